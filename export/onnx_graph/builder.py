"""A small ONNX graph under construction: nodes, constants, inputs, outputs. Tensors are named by strings."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

OPSET = 18
IR_VERSION = 9
MICROSOFT = "com.microsoft"
DTYPES = {
    "int64": TensorProto.INT64,
    "int32": TensorProto.INT32,
    "float32": TensorProto.FLOAT,
    "int8": TensorProto.INT8,
    "bool": TensorProto.BOOL,
}

Axis = str | int
"""A fixed size, or the name of a free one."""


def opsets() -> list[onnx.OperatorSetIdProto]:
    """The operator sets that every graph declares."""
    return [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]


class GraphBuilder:
    """Collects nodes in order; every method returns the name of the tensor it makes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}
        self._small: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, dtype: str, shape: Sequence[Axis]) -> str:
        self._inputs.append(helper.make_tensor_value_info(name, DTYPES[dtype], list(shape)))
        return name

    def output(self, tensor: str, name: str, dtype: str, shape: Sequence[Axis]) -> None:
        """Give `tensor` out as `name`."""
        for node in reversed(self._nodes):
            if tensor in node.output and tensor != name:
                node.output[list(node.output).index(tensor)] = name
                self._rename_inputs(tensor, name)
                break
        self._outputs.append(helper.make_tensor_value_info(name, DTYPES[dtype], list(shape)))

    def _rename_inputs(self, old: str, new: str) -> None:
        for node in self._nodes:
            for index, name in enumerate(node.input):
                if name == old:
                    node.input[index] = new

    def constant(self, values: Any, name: str | None = None) -> str:
        """A constant tensor; small equal ones are shared."""
        array: NDArray[Any] = np.asarray(values, order="C")
        key = (array.dtype.str, array.shape, array.tobytes()) if array.size < 64 else None
        if key is not None and key in self._small:
            return self._small[key]
        name = name or f"constant.{len(self._constants)}"
        self._constants[name] = numpy_helper.from_array(array, name)
        if key is not None:
            self._small[key] = name
        return name

    def node(
        self, kind: str, inputs: Sequence[str], outputs: int = 1, domain: str = "", **attributes: Any
    ) -> list[str]:
        """Add a node with several outputs."""
        index = len(self._nodes)
        names = [f"{kind}.{index}" if outputs == 1 else f"{kind}.{index}.{number}" for number in range(outputs)]
        self._nodes.append(
            helper.make_node(kind, list(inputs), names, name=f"{self.name}/{kind}.{index}", domain=domain, **attributes)
        )
        return names

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add a node with one output."""
        return self.node(kind, inputs, 1, domain, **attributes)[0]

    def reshape(self, x: str, *shape: int) -> str:
        """0 keeps an axis, -1 is what is left."""
        return self.op("Reshape", x, self.constant(np.array(shape, np.int64)))

    def unsqueeze(self, x: str, *axes: int) -> str:
        return self.op("Unsqueeze", x, self.constant(np.array(axes, np.int64)))

    def model(self) -> onnx.ModelProto:
        """The finished model, checked."""
        graph = helper.make_graph(self._nodes, self.name, self._inputs, self._outputs, list(self._constants.values()))
        model = helper.make_model(graph, opset_imports=opsets(), ir_version=IR_VERSION, producer_name="ringmt")
        onnx.checker.check_model(model)
        return model

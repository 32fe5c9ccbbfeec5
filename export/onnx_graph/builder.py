"""An ONNX graph under construction: nodes, constants, inputs, outputs. Tensors are named by strings.

It begins empty, or with an exported graph (`of`), which is then edited: tensors are found by the nodes that produce and
read them, and replaced. The finished model has only the nodes that its outputs need.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

from export.onnx_graph.weightless import without_weights

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
SMALL = 64
"""Equal constants of fewer numbers are stored once."""

Axis = str | int
"""A fixed size, or the name of a free one."""


def opsets() -> list[onnx.OperatorSetIdProto]:
    """The operator sets that every graph declares."""
    return [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]


class GraphBuilder:
    """Collects nodes. Methods that add nodes return the names of the tensors that these make."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._count = 0
        self._nodes: list[NodeProto] = []
        self._makers: dict[str, NodeProto] = {}
        self._readers: dict[str, list[NodeProto]] = {}
        self._constants: dict[str, TensorProto] = {}
        self._small: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._inputs: dict[str, onnx.ValueInfoProto] = {}
        self._outputs: dict[str, onnx.ValueInfoProto] = {}

    @classmethod
    def of(cls, exported: onnx.ModelProto, name: str) -> "GraphBuilder":
        """A copy of an exported graph, to be edited and continued. Values of constants are shared, as in `copy`."""
        graph = cls(name)
        graph._constants = {tensor.name: tensor for tensor in exported.graph.initializer}
        graph._inputs = {tensor.name: tensor for tensor in exported.graph.input}
        graph._outputs = {tensor.name: tensor for tensor in exported.graph.output}
        for node in exported.graph.node:
            if node.op_type == "Constant":
                graph._constants[node.output[0]] = helper.get_node_attr_value(node, "value")
            else:
                graph._add(copy_node(node))
        return graph

    @classmethod
    def resumed(cls, finished: onnx.ModelProto, name: str) -> "GraphBuilder":
        """A copy of a graph that a builder of another name made, to be continued: new tensors have new names."""
        graph = cls.of(finished, name)
        numbers = [part for maker in graph._makers for part in maker.split(".") if part.isdecimal()]
        graph._count = 1 + max(map(int, numbers), default=0)
        return graph

    def copy(self) -> "GraphBuilder":
        """A copy that is edited for itself. The values of constants, which are never changed, are shared."""
        copied = GraphBuilder(self.name)
        copied._count = self._count
        for node in self._nodes:
            copied._add(copy_node(node))
        copied._constants, copied._small = dict(self._constants), dict(self._small)
        copied._inputs, copied._outputs = dict(self._inputs), dict(self._outputs)
        return copied

    # Queries

    def nodes(self, *kinds: str) -> list[NodeProto]:
        """A new list of the nodes of these kinds, in order; the graph may change while it is iterated."""
        return [node for node in self._nodes if node.op_type in kinds]

    def maker(self, tensor: str, *kinds: str) -> NodeProto | None:
        """The node of one of these kinds that makes `tensor`, or None."""
        node = self._makers.get(tensor)
        return node if node is not None and node.op_type in kinds else None

    def readers(self, tensor: str) -> list[NodeProto]:
        """A new list of the nodes that read `tensor`, each once."""
        return list(self._readers.get(tensor, ()))

    def array(self, tensor: str) -> NDArray[Any] | None:
        """The value of a constant; None for other tensors."""
        return numpy_helper.to_array(self._constants[tensor]) if tensor in self._constants else None

    def shape(self, tensor: str) -> tuple[int, ...] | None:
        """The shape of a constant; None for other tensors."""
        return tuple(self._constants[tensor].dims) if tensor in self._constants else None

    def constant_names(self) -> list[str]:
        return list(self._constants)

    def output_names(self) -> list[str]:
        return list(self._outputs)

    def is_output(self, tensor: str) -> bool:
        return tensor in self._outputs

    def input_type(self, tensor: str) -> int | None:
        """ONNX's number of an input's element type; None for tensors that are no inputs."""
        return self._inputs[tensor].type.tensor_type.elem_type if tensor in self._inputs else None

    # Additions

    def input(self, name: str, dtype: str, shape: Sequence[Axis]) -> str:
        self._inputs.setdefault(name, helper.make_tensor_value_info(name, DTYPES[dtype], list(shape)))
        return name

    def output(self, tensor: str, name: str, dtype: str, shape: Sequence[Axis]) -> None:
        """Make `tensor` an output called `name`."""
        self._outputs[name] = helper.make_tensor_value_info(name, DTYPES[dtype], list(shape))
        self._rename(tensor, name)

    def constant(self, values: Any, name: str | None = None) -> str:
        """A constant tensor; small equal ones without a `name` are shared."""
        array: NDArray[Any] = np.asarray(values, order="C")
        key = (array.dtype.str, array.shape, array.tobytes()) if array.size < SMALL else None
        if name is None and key is not None and key in self._small:
            return self._small[key]
        name = name or f"{self.name}/constant.{len(self._constants)}"
        self._constants[name] = numpy_helper.from_array(array, name)
        if key is not None:
            self._small[key] = name
        return name

    def node(
        self, kind: str, inputs: Sequence[str], outputs: int = 1, domain: str = "", **attributes: Any
    ) -> list[str]:
        """Add a node with several outputs."""
        index, self._count = self._count, self._count + 1
        names = [f"{kind}.{index}" if outputs == 1 else f"{kind}.{index}.{number}" for number in range(outputs)]
        self._add(
            helper.make_node(kind, list(inputs), names, name=f"{self.name}/{kind}.{index}", domain=domain, **attributes)
        )
        return names

    def _add(self, node: NodeProto) -> None:
        self._nodes.append(node)
        for name in filter(None, node.output):
            self._makers[name] = node
        for name in dict.fromkeys(filter(None, node.input)):
            self._readers.setdefault(name, []).append(node)

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add a node with one output."""
        return self.node(kind, inputs, 1, domain, **attributes)[0]

    def reshape(self, x: str, *shape: int) -> str:
        """Add a Reshape; 0 keeps an axis, -1 takes what is left."""
        return self.op("Reshape", x, self.constant(np.array(shape, np.int64)))

    def unsqueeze(self, x: str, *axes: int) -> str:
        return self.op("Unsqueeze", x, self.constant(np.array(axes, np.int64)))

    # Changes

    def replace(self, old: str, new: str) -> None:
        """Let all nodes that read `old` read `new`; outputs keep their names."""
        rename(self._makers.pop(old).output, old, "")
        if self.is_output(old):
            self._rename(new, old)
        else:
            self._read_instead(old, new)

    def read_instead(self, node: NodeProto, index: int, new: str) -> None:
        """Let one input of a node be `new`."""
        old = node.input[index]
        node.input[index] = new
        if old not in node.input:
            self._readers[old].remove(node)
        if node not in self.readers(new):
            self._readers.setdefault(new, []).append(node)

    def drop_output(self, name: str) -> None:
        """Remove an output."""
        del self._outputs[name]

    def _rename(self, old: str, new: str) -> None:
        self._read_instead(old, new)
        maker = self._makers.pop(old, None)
        if maker is not None:
            rename(maker.output, old, new)
            self._makers[new] = maker

    def _read_instead(self, old: str, new: str) -> None:
        """All readers of `old` read `new`."""
        for node in self._readers.pop(old, ()):
            already = new in node.input
            rename(node.input, old, new)
            if not already:
                self._readers.setdefault(new, []).append(node)

    def model(self) -> onnx.ModelProto:
        """The finished, checked model, without nodes that no output needs."""
        nodes = needed_in_order(self._nodes, list(self._outputs))
        read = {name for node in nodes for name in names_read(node)}
        constants = {name: tensor for name, tensor in self._constants.items() if name in read}
        inputs = [tensor for name, tensor in self._inputs.items() if name in read]
        graph = helper.make_graph(nodes, self.name, inputs, list(self._outputs.values()))
        model = helper.make_model(graph, opset_imports=opsets(), ir_version=IR_VERSION, producer_name="ringmt")
        for name, tensor in constants.items():  # copied once: make_graph and make_model copy all that they are given
            model.graph.initializer.append(tensor)
            model.graph.initializer[-1].name = name
        onnx.checker.check_model(without_weights(model))
        return model


def rename(names: Any, old: str, new: str) -> None:
    """Rename a tensor in a node's inputs or outputs."""
    for index, name in enumerate(names):
        if name == old:
            names[index] = new


def copy_node(node: NodeProto) -> NodeProto:
    copy = NodeProto()
    copy.CopyFrom(node)
    return copy


def names_read(node: NodeProto) -> list[str]:
    """Tensors that a node reads, those that only nodes of its branches read included."""
    branches = [attribute.g for attribute in node.attribute if attribute.type == onnx.AttributeProto.GRAPH]
    return [*node.input, *(name for branch in branches for inner in branch.node for name in names_read(inner))]


def needed_in_order(nodes: Sequence[NodeProto], outputs: Sequence[str]) -> list[NodeProto]:
    """The nodes that `outputs` depend on, each after those that it reads from, and otherwise in their order."""
    maker = {name: index for index, node in enumerate(nodes) for name in node.output if name}
    level: dict[int, int] = {}

    def admitted(root: int) -> Iterator[int]:
        """Depth first, without recursion: graphs are deep."""
        stack = [root]
        while stack:
            index = stack[-1]
            read = names_read(nodes[index])
            waiting = [maker[name] for name in read if name in maker and maker[name] not in level]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            stack.pop()
            if index not in level:
                level[index] = len(level)
                yield index

    return [nodes[index] for name in outputs if name in maker for index in admitted(maker[name])]

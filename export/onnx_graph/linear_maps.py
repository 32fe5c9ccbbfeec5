"""Linear maps in an exported graph, found by the names of the weights of nn.Linear."""

from dataclasses import dataclass

import numpy as np
from onnx import NodeProto

from export.onnx_graph.builder import GraphBuilder
from export.onnx_graph.linear import Array


@dataclass(frozen=True)
class LinearMap:
    """`result` = `x` @ `weight`.T + `bias`; weight [out, in] and bias [out] are constants, `bias` "" where there is
    none. `site` names the module, as calibration does."""

    result: str
    x: str
    weight: str
    bias: str

    @property
    def site(self) -> str:
        return self.weight.split(".weight")[0].removeprefix("model.").removeprefix("base.")


def linear_maps(graph: GraphBuilder) -> list[LinearMap]:
    return [result for node in graph.nodes("MatMul") if (result := linear_map(graph, node)) is not None]


def linear_map(graph: GraphBuilder, product: NodeProto) -> LinearMap | None:
    """The linear map that a MatMul belongs to, None for products of two tensors."""
    turn = graph.maker(product.input[1], "Transpose")
    shape = None if turn is None else graph.shape(turn.input[0])
    if turn is None or shape is None or len(shape) != 2:
        return None
    result = product.output[0]
    readers = graph.readers(result)
    if len(readers) == 1 and readers[0].op_type == "Add":
        [bias] = [name for name in readers[0].input if name != result] or [""]
        if graph.shape(bias) == shape[:1]:
            return LinearMap(readers[0].output[0], product.input[0], turn.input[0], bias)
    return LinearMap(result, product.input[0], turn.input[0], "")


def split_linear_maps(graph: GraphBuilder) -> None:
    """A linear map whose result is split becomes one for every part: its weights are split instead."""
    for item in linear_maps(graph):
        readers = graph.readers(item.result)
        if [node.op_type for node in readers] != ["Split"] or graph.is_output(item.result):
            continue
        parts = list(readers[0].output)
        pieces = [np.split(constant_of(graph, name), len(parts)) if name else [] for name in (item.weight, item.bias)]
        for index, part in enumerate(parts):
            weight, *bias = [
                graph.constant(piece[index], f"{name}.{index}")
                for piece, name in zip(pieces, (item.weight, item.bias), strict=True)
                if name
            ]
            product = graph.op("MatMul", item.x, graph.op("Transpose", weight, perm=[1, 0]))
            graph.replace(part, graph.op("Add", product, bias[0]) if bias else product)


def constant_of(graph: GraphBuilder, name: str) -> Array:
    """Raises KeyError for a tensor that is not a constant."""
    values = graph.array(name)
    if values is None:
        raise KeyError(name)
    return values

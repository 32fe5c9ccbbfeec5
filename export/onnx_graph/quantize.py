"""Edits that bring an exported graph to int8: linear maps whose input has a calibrated range, and tables of rows.

Ranges are fixed, so that a sentence's result does not depend on its neighbours in a batch. A linear map without a range
stays at fp32.
"""

from collections.abc import Callable, Mapping

import numpy as np
import onnx

from export.onnx_graph.builder import GraphBuilder
from export.onnx_graph.linear import RECTIFIED, SIGNED, fixed_product, level_width, quantize_weight
from export.onnx_graph.linear_maps import constant_of, linear_maps, split_linear_maps
from export.onnx_graph.tidy import drop_idle_casts, join_heads, keep_flags


class Traces:
    """Traced graphs of one model, without redundant operators. With `keep` each is traced once, for graphs of several
    precisions; kept ones hold weights."""

    def __init__(self, keep: bool = False) -> None:
        self._keep, self._graphs = keep, dict[str, GraphBuilder]()

    def get(self, name: str, trace: Callable[[], onnx.ModelProto], key: str = "") -> GraphBuilder:
        """The graph of this name, to be edited as a copy. `key` where another graph has the name, too."""
        graph = self._graphs.get(key or name) or tidied(trace(), name)
        if self._keep:
            self._graphs[key or name] = graph
        return graph


def tidied(exported: onnx.ModelProto, name: str) -> GraphBuilder:
    """An exported graph without redundant operators."""
    graph = GraphBuilder.of(exported, name)
    drop_idle_casts(graph, exported)
    keep_flags(graph)
    join_heads(graph)
    split_linear_maps(graph)
    return graph


def edited(traced: GraphBuilder, ranges: Mapping[str, float] | None) -> GraphBuilder:
    """A copy, to which nodes may be added: at fp32, or with `ranges` (see export.calibration) at int8."""
    graph = traced.copy()
    if ranges is not None:
        quantize_linear(graph, ranges)
        quantize_embedding(graph)
    return graph


def quantize_linear(graph: GraphBuilder, ranges: Mapping[str, float]) -> None:
    """`ranges`: site -> largest absolute input that calibration saw.

    Where a ReLU stands before a linear map, unsigned levels clip negative inputs, so the ReLU is removed.
    """
    for linear_map in linear_maps(graph):
        if linear_map.site not in ranges:
            continue
        relu = graph.maker(linear_map.x, "Relu")
        x, levels = (linear_map.x, SIGNED) if relu is None else (relu.input[0], RECTIFIED)
        weight = quantize_weight(constant_of(graph, linear_map.weight))
        values = graph.constant(np.ascontiguousarray(weight.values.T), f"{linear_map.weight}.int8")
        step = level_width(ranges[linear_map.site], levels)
        graph.replace(linear_map.result, fixed_product(graph, x, values, weight.scale, linear_map.bias, step, levels))


def quantize_embedding(graph: GraphBuilder) -> None:
    """Rows of the embeddings, tables by the name "embedding.weight": at int8, each times its own scale and the factor
    by which the graph multiplies rows, if it does."""
    for rows in graph.nodes("Gather"):
        table = graph.array(rows.input[0])
        if table is None or not rows.input[0].endswith("embedding.weight"):
            continue
        result, factor = scaled_rows(graph, rows.output[0])
        weight = quantize_weight(table)
        values = graph.op("Gather", graph.constant(weight.values, f"{rows.input[0]}.int8"), rows.input[1])
        scales = graph.constant((weight.scale * factor)[:, None], f"{rows.input[0]}.row_scale")
        scale = graph.op("Gather", scales, rows.input[1])
        graph.replace(result, graph.op("Mul", graph.op("Cast", values, to=1), scale))


def scaled_rows(graph: GraphBuilder, rows: str) -> tuple[str, np.float32]:
    """`rows` times a number, and that number; `rows` and 1 where nothing multiplies them."""
    readers = graph.readers(rows)
    factor = graph.array(readers[0].input[1]) if [node.op_type for node in readers] == ["Mul"] else None
    if factor is None or factor.size != 1:
        return rows, np.float32(1)
    return readers[0].output[0], np.float32(factor)

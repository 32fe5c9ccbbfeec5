"""All edits of an exported graph, in their order."""

from collections.abc import Mapping

import onnx

from export.onnx_graph.builder import GraphBuilder
from export.onnx_graph.linear_maps import split_linear_maps
from export.onnx_graph.quantize import quantize_embedding, quantize_linear
from export.onnx_graph.tidy import drop_idle_casts, join_heads, keep_flags


def edited(exported: onnx.ModelProto, name: str, ranges: Mapping[str, float] | None) -> GraphBuilder:
    """The edited graph, to which nodes may be added: at fp32, or with `ranges` (see export.calibration) at int8."""
    graph = GraphBuilder.of(exported, name)
    drop_idle_casts(graph, exported)
    keep_flags(graph)
    join_heads(graph)
    split_linear_maps(graph)
    if ranges is not None:
        quantize_linear(graph, ranges)
        quantize_embedding(graph)
    return graph

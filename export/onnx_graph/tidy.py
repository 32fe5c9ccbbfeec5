"""Edits that remove redundant operators of a traced graph: casts to the same type, masks that are cast to bool and
back, heads that are split before a kernel that splits them itself."""

from typing import Any

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper

from export.onnx_graph.builder import GraphBuilder
from export.onnx_graph.weightless import without_weights


def attribute(node: NodeProto, name: str) -> Any:
    """The value of a node's attribute, None where it has none of that name."""
    return next((helper.get_attribute_value(entry) for entry in node.attribute if entry.name == name), None)


def drop_idle_casts(graph: GraphBuilder, model: onnx.ModelProto) -> None:
    """Remove casts to the same type, and identities. Types are inferred in `model`, the exported
    graph."""
    inferred = onnx.shape_inference.infer_shapes(without_weights(model)).graph
    types = {tensor.name: tensor.type.tensor_type.elem_type for tensor in (*inferred.value_info, *inferred.input)}
    for node in graph.nodes("Cast", "Identity"):
        if node.op_type == "Identity" or types.get(node.input[0]) == attribute(node, "to"):
            graph.replace(node.output[0], node.input[0])


def keep_flags(graph: GraphBuilder) -> None:
    """Replace Cast(Squeeze(Unsqueeze(Unsqueeze(flags > 0)))) to int32 by `flags`, an input of zeros and ones."""
    for node in graph.nodes("Cast"):
        if attribute(node, "to") != TensorProto.INT32:
            continue
        flags = positive(graph, unsqueezed(graph, node.input[0]))
        if flags is not None and graph.input_type(flags) == TensorProto.INT32:
            graph.replace(node.output[0], flags)


def unsqueezed(graph: GraphBuilder, tensor: str) -> str:
    """The tensor before axes of size one were added to it and removed again."""
    squeeze = graph.maker(tensor, "Squeeze")
    if squeeze is None:
        return tensor
    axes, inner = sorted(graph.array(squeeze.input[1])), squeeze.input[0]  # type: ignore[arg-type]
    added: list[int] = []
    while (node := graph.maker(inner, "Unsqueeze")) is not None and len(added) < len(axes):
        added, inner = [*added, *graph.array(node.input[1]).tolist()], node.input[0]  # type: ignore[union-attr]
    return inner if sorted(added) == axes else tensor


def positive(graph: GraphBuilder, tensor: str) -> str | None:
    """x where `tensor` is x > 0, else None."""
    node = graph.maker(tensor, "Greater")
    if node is None:
        return None
    threshold = graph.array(through_casts(graph, node.input[1]))
    return through_casts(graph, node.input[0]) if threshold is not None and not np.any(threshold) else None


def through_casts(graph: GraphBuilder, tensor: str) -> str:
    while (cast := graph.maker(tensor, "Cast")) is not None:
        tensor = cast.input[0]
    return tensor


def join_heads(graph: GraphBuilder) -> None:
    """Pass unsplit keys and values to attention kernels that split the heads themselves."""
    for node in graph.nodes("MultiHeadAttention"):
        heads = attribute(node, "num_heads")
        whole = [whole_of(graph, tensor, heads) for tensor in node.input[1:3]]
        if None not in whole:
            for index, tensor in enumerate(whole, 1):
                graph.read_instead(node, index, str(tensor))


def whole_of(graph: GraphBuilder, tensor: str, heads: int) -> str | None:
    """[batch, length, d] where `tensor` is that as [batch, heads, length, head_dim], else None."""
    turn = graph.maker(tensor, "Transpose")
    if turn is None or list(attribute(turn, "perm")) != [0, 2, 1, 3]:
        return None
    split = graph.maker(turn.input[0], "Reshape")
    shape = None if split is None else graph.array(split.input[1])
    if split is None or shape is None or shape.tolist() != [0, 0, heads, -1]:
        return None
    return str(split.input[0])

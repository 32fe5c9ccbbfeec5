"""Attention to the used part of long rings.

With full attention a ring is as long as the longest sentence of a batch needs, in few sizes (server/engine/
batch_shape.py), so that most of its entries are still empty in many steps. Reading them takes as long as reading used
ones. Where at most half of the entries are used, attention reads a copy of these; to copy more takes longer than it
saves.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

from export.onnx_graph.builder import needed_in_order
from export.onnx_graph.weightless import without_weights

SIDE_BY_SIDE = 16
"""Kernels add so many entries side by side: with a multiple of it a sum has the same order as over the whole ring."""
PREFIX = "used_entries/"
NUM_ENTRIES = "num_entries"
KEY, VALUE, BIAS = 1, 2, 5
"""Inputs of MultiHeadAttention."""


def attend_used_entries(step: onnx.ModelProto, rings: Sequence[str]) -> None:
    """Edit a finished step graph: each attention to the written `rings` [slot, heads, entry, head_dim] becomes one of
    two branches with the same result."""
    written = {f"next_{ring}" for ring in rings}
    graph = step.graph
    attentions = [node for node in graph.node if node.op_type == "MultiHeadAttention" and node.input[KEY] in written]
    if not attentions:
        return
    counts = count_entries(graph, attentions[0].input[KEY])
    nodes = [*counts, *(in_branches(node) if node in attentions else node for node in graph.node)]
    del graph.node[:]
    graph.node.extend(needed_in_order(nodes, [output.name for output in graph.output]))
    onnx.checker.check_model(without_weights(step))


def count_entries(graph: onnx.GraphProto, ring: str) -> list[NodeProto]:
    """Nodes that compute PREFIX + "end", the number of entries to read [1], and whether these are at most half of the
    entries of `ring`, PREFIX + "few" [1]."""

    def constant(name: str, *values: int) -> str:
        graph.initializer.append(numpy_helper.from_array(np.array(values), PREFIX + name))
        return PREFIX + name

    size, less = constant("size", SIDE_BY_SIDE), constant("less", SIDE_BY_SIDE - 1)
    two = constant("two", 2)
    constant("begin", 0)
    constant("entry_axis", 2)
    constant("bias_axis", 3)
    graph.input.append(helper.make_tensor_value_info(NUM_ENTRIES, TensorProto.INT64, [1]))
    return [
        node("Add", [NUM_ENTRIES, less], "rounded"),
        node("Div", [PREFIX + "rounded", size], "sixteens"),
        node("Mul", [PREFIX + "sixteens", size], "end"),
        node("Mul", [PREFIX + "end", two], "twice"),
        node("Shape", [ring], "length", start=2, end=3),
        node("LessOrEqual", [PREFIX + "twice", PREFIX + "length"], "few"),
    ]


def node(kind: str, inputs: list[str], output: str, **attributes: Any) -> NodeProto:
    return helper.make_node(kind, inputs, [PREFIX + output], name=PREFIX + output, **attributes)


def in_branches(attention: NodeProto) -> NodeProto:
    """The attention over the used entries where they are few, else over all."""
    result = attention.output[0]
    whole, part = NodeProto(), NodeProto()
    sliced = []
    for branch, name in ((whole, f"{result}.all"), (part, f"{result}.used")):
        branch.CopyFrom(attention)
        branch.name = branch.output[0] = PREFIX + name
    for index, axis in ((KEY, "entry_axis"), (VALUE, "entry_axis"), (BIAS, "bias_axis")):
        name = f"{result}.{index}"
        ends = [PREFIX + "begin", PREFIX + "end", PREFIX + axis]
        sliced.append(node("Slice", [attention.input[index], *ends], name))
        part.input[index] = PREFIX + name
    branches = {
        f"{choice}_branch": helper.make_graph(
            nodes,
            PREFIX + nodes[-1].output[0],
            [],
            [helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, None)],
        )
        for choice, nodes in (("then", [*sliced, part]), ("else", [whole]))
    }
    return helper.make_node("If", [PREFIX + "few"], [result], name=PREFIX + result, **branches)

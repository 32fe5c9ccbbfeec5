"""Graphs that score given translations: steps that output the log-probability of every word instead of candidates.

One step graph with both outputs would be slower for searches too (5% at 32 sentences with 4 beams), because outputs are
outside the memory that the runtime plans. A score graph is a step graph without the selection of candidates; it shares
the step's weights."""

from collections.abc import Sequence
from typing import Any

import onnx
from onnx import TensorProto

from server.artifact.signature import LOG_PROBABILITY

PAST = ("next_ring.", "next_recurrent.")


class ScoreError(ValueError):
    """A step graph that computes no log-probabilities."""


def score_graph(step: onnx.ModelProto) -> onnx.ModelProto:
    """The step without the choice of candidates: it ends with its last LogSoftmax, which is over words. Raises
    ScoreError."""
    model = onnx.ModelProto()
    model.CopyFrom(step)
    graph = model.graph
    softmax = [node for node in graph.node if node.op_type == "LogSoftmax"]
    if not softmax:
        raise ScoreError("the step graph selects words without computing their log-probabilities")
    kept = [value for value in graph.output if value.name == "next_ancestry" or value.name.startswith(PAST)]
    needed, nodes = {softmax[-1].output[0], *(value.name for value in kept)}, []
    for node in reversed(graph.node):
        if needed & set(node.output):
            needed |= set(node.input)
            nodes.append(node)
    softmax[-1].output[0] = LOG_PROBABILITY
    given = onnx.helper.make_tensor_value_info(LOG_PROBABILITY, TensorProto.FLOAT, ["slot", "beam", "word"])
    replace(graph.node, nodes[::-1])
    replace(graph.output, [*kept, given])
    replace(graph.input, [value for value in graph.input if value.name in needed])
    replace(graph.initializer, [value for value in graph.initializer if value.name in needed])
    graph.ClearField("value_info")
    return model


def replace(field: Any, messages: Sequence[Any]) -> None:
    """Replace the messages of a repeated protobuf field (whose type cannot be named)."""
    del field[:]
    field.extend(messages)

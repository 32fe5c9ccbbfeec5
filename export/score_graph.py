"""Graphs that score given translations: steps that give the log-probability of every word instead of choosing.

One step graph with both outputs would be slower for searches too (5% at 32 sentences with 4 beams), because outputs are
outside the memory that the runtime plans. A score graph is a step graph without its end; it shares the step's weights.
"""

from collections.abc import Sequence
from typing import Any

import onnx
from onnx import TensorProto

from server.artifact.signature import LOG_PROBABILITY


class ScoreError(ValueError):
    """A step graph that computes no log-probabilities."""


def score_graph(step: onnx.ModelProto) -> onnx.ModelProto:
    """The step without the choice of candidates: it ends with its last LogSoftmax, that over words. Raises
    ScoreError."""
    model = onnx.ModelProto()
    model.CopyFrom(step)
    graph = model.graph
    softmax = [node for node in graph.node if node.op_type == "LogSoftmax"]
    if not softmax:
        raise ScoreError("a step graph chooses among words without computing their log-probabilities")
    kept = [one for one in graph.output if one.name == "next_ancestry" or one.name.startswith("next_ring.")]
    needed, nodes = {softmax[-1].output[0], *(one.name for one in kept)}, []
    for node in reversed(graph.node):
        if needed & set(node.output):
            needed |= set(node.input)
            nodes.append(node)
    softmax[-1].output[0] = LOG_PROBABILITY
    given = onnx.helper.make_tensor_value_info(LOG_PROBABILITY, TensorProto.FLOAT, ["slot", "beam", "word"])
    replace(graph.node, nodes[::-1])
    replace(graph.output, [*kept, given])
    replace(graph.input, [one for one in graph.input if one.name in needed])
    replace(graph.initializer, [one for one in graph.initializer if one.name in needed])
    graph.ClearField("value_info")
    return model


def replace(field: Any, messages: Sequence[Any]) -> None:
    """Replace the messages of a repeated protobuf field (whose type cannot be named)."""
    del field[:]
    field.extend(messages)

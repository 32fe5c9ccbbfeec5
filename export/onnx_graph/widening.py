"""Steps that score all words where the model is unsure among the words of a shortlist.

A slot is unsure where the best word of its best row has a small probability among the listed words (how small, says its
encode graph): then what the row needs may be on no list. Only the states of unsure slots are projected to the whole
vocabulary, and the candidates of these slots are those of a step without a shortlist. Without unsure slots the tensors
are empty. A slot's candidates depend on its own rows alone.
"""

import numpy as np

from export.onnx_graph.builder import GraphBuilder
from export.onnx_graph.candidates import choose
from export.onnx_graph.linear import Projection
from export.onnx_graph.words import Words
from server.artifact.signature import CONFIDENCE, STATE
from server.backends.state import DEAD_SCORE


def unsure_slots(graph: GraphBuilder, log_probability: str, score: str) -> str:
    """log_probability [slot, beam, listed], score [slot, beam] -> the numbers of the slots whose first row is live and
    has no word of as much log-probability as the slot's input CONFIDENCE, [unsure]."""
    first, last = graph.constant(np.array(0)), graph.constant(np.array([1]))
    of_first = graph.op("Gather", log_probability, first, axis=1)  # [slot, listed]
    best = graph.op("ReduceMax", of_first, last, keepdims=0)  # [slot]
    unsure = graph.op("Less", best, graph.op("Squeeze", graph.input(CONFIDENCE, "float32", ["slot", 1]), last))
    live = graph.op("Greater", graph.op("Gather", score, first, axis=1), graph.constant(np.float32(DEAD_SCORE / 2)))
    return graph.op("Squeeze", graph.op("NonZero", graph.op("And", unsure, live)), graph.constant(np.array([0])))


def widened(
    graph: GraphBuilder, projection: Projection, words: Words, score: str, slots: str, listed: tuple[str, str, str]
) -> tuple[str, str, str]:
    """The candidates `listed` (score, token, parent), in the slots `slots` those among all words."""
    weight, bias = words.padded()
    logits = projection.apply(graph, graph.op("Gather", STATE, slots, axis=0), weight, bias)
    count = graph.op("Squeeze", graph.op("Shape", slots), graph.constant(np.array([0])))
    rows = graph.op("Range", graph.constant(np.array(0)), count, graph.constant(np.array(1)))
    first_row = graph.unsqueeze(graph.op("Mul", rows, graph.input("num_rows", "int64", [1])), 1)
    best = choose(
        graph,
        graph.op("LogSoftmax", logits, axis=-1),
        graph.op("Gather", score, slots, axis=0),
        len(weight),
        first_row,
    )
    at = graph.unsqueeze(slots, 1)
    ours, tokens, parents = (graph.op("ScatterND", old, at, new) for old, new in zip(listed, best, strict=True))
    return ours, tokens, parents

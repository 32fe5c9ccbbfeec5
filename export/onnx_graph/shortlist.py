"""A shortlist of target words per sentence: frequent words, and likely translations of the source's words.

The encode graph selects them and outputs their columns of the output projection; the step graph scores no other words.
A sentence's list depends on its own source alone, so its neighbours in a batch change nothing. Scores are
log-probabilities among the words of the list.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from export.onnx_graph.builder import GraphBuilder
from export.onnx_graph.candidates import GROUP
from export.onnx_graph.linear import Array, Projection
from model.data.lexicon import NULL_ID, Ids, Lexicon, smallest
from model.masks import HIDDEN


@dataclass(frozen=True)
class ShortlistPlan:
    """`frequent` [n] word ids in ascending order are on every list; `num_extra` are added by the source's words."""

    lexicon: Lexicon
    frequent: NDArray[np.int64]
    num_extra: int

    @property
    def size(self) -> int:
        return len(self.frequent) + self.num_extra

    @classmethod
    def of(cls, lexicon: Lexicon, num_frequent: int, num_extra: int) -> "ShortlistPlan":
        """Raises ValueError for sizes that are too large or no multiples of 64 (the size of groups of words)."""
        words = len(lexicon.by_frequency)
        if num_frequent % GROUP or num_extra % GROUP or min(num_frequent, num_extra) <= 0:
            raise ValueError(f"a shortlist has sizes in multiples of {GROUP}, not {num_frequent}+{num_extra}")
        if num_frequent + num_extra > words:
            raise ValueError(f"a shortlist of {num_frequent}+{num_extra} words is longer than the vocabulary ({words})")
        return cls(lexicon, np.sort(lexicon.by_frequency[:num_frequent].astype(np.int64)), num_extra)


def add_shortlist(
    graph: GraphBuilder, projection: Projection, ids: str, padding: str, plan: ShortlistPlan, weight: Array, bias: Array
) -> None:
    """Outputs of the encode graph: shortlist.word [batch, size], the columns of the extra words and, where the
    projection has one, their bias.

    ids and padding [batch, source], weight [vocabulary, d], bias [vocabulary]. Ties go to the lower word.
    """
    extra = extra_words(graph, ids, padding, plan)
    batch = graph.op("Shape", ids, start=0, end=1)
    frequent = graph.op(
        "Expand",
        graph.constant(plan.frequent[None]),
        graph.op("Concat", batch, graph.constant(np.array([len(plan.frequent)])), axis=0),
    )
    graph.output(graph.op("Concat", frequent, extra, axis=1), "shortlist.word", "int64", ["batch", plan.size])
    projection.give_columns(graph, extra, weight, plan.num_extra)
    if bias.any():
        of_extra = graph.unsqueeze(graph.op("Gather", graph.constant(bias), extra), 1)
        graph.output(of_extra, "shortlist.bias", "float32", ["batch", 1, plan.num_extra])


def extra_words(graph: GraphBuilder, ids: str, padding: str, plan: ShortlistPlan) -> str:
    """The words outside the frequent ones that the source's words translate to with the largest summed probability,
    in ascending order: [batch, extra]."""
    lexicon = plan.lexicon
    others, place = other_words(plan)
    start = np.zeros((1, len(others) + 1), np.float32)
    start[0, place[lexicon.words[NULL_ID]]] = lexicon.probability[NULL_ID]
    start[0, len(others)] = HIDDEN
    batch = graph.op("Shape", ids, start=0, end=1)
    shape = graph.op("Concat", batch, graph.constant(np.array([len(others) + 1])), axis=0)
    empty = graph.op("Expand", graph.constant(start), shape)  # [batch, others + 1]

    words = graph.op("Cast", graph.op("Gather", graph.constant(place[lexicon.words]), ids), to=7)
    chance = graph.op("Cast", graph.op("Gather", graph.constant(lexicon.probability), ids), to=1)
    kept = graph.op("Mul", chance, graph.unsqueeze(graph.op("Cast", padding, to=1), 2))  # [batch, source, k]
    flat = graph.constant(np.array([0, -1]))
    score = graph.op(
        "ScatterElements", empty, graph.op("Reshape", words, flat), graph.op("Reshape", kept, flat),
        axis=1, reduction="add",
    )  # fmt: skip
    count = graph.constant(np.array([plan.num_extra]))
    _, best = graph.node("TopK", [score, count], 2, axis=1)
    ordered, _ = graph.node("TopK", [best, count], 2, axis=1, largest=0)
    return graph.op("Gather", graph.constant(others), ordered)


def other_words(plan: ShortlistPlan) -> tuple[NDArray[np.int64], Ids]:
    """The words that are not on every list, ascending, and each word's place among them, in the smallest type that
    holds it. Words that are on every list, or are never generated, share the index after the last: they have no
    scores."""
    vocabulary = len(plan.lexicon.words)
    others = np.setdiff1d(plan.lexicon.by_frequency.astype(np.int64), plan.frequent)
    place = np.full(vocabulary, len(others), np.int64)
    place[others] = np.arange(len(others))
    return others, smallest(place, len(others))


def project_shortlist(
    graph: GraphBuilder, projection: Projection, hidden: str, plan: ShortlistPlan, weight: Array, bias: Array
) -> tuple[str, str]:
    """hidden [slot, beam, d], weight [vocabulary, d], bias [vocabulary] -> logits [slot, beam, size] of the listed
    words, and the input that names them."""
    words = graph.input("shortlist.word", "int64", ["slot", plan.size])
    frequent = projection.apply(graph, hidden, weight[plan.frequent], bias[plan.frequent])
    extra = projection.project_columns(graph, hidden, plan.num_extra, weight.shape[1])
    if bias.any():
        extra = graph.op("Add", extra, graph.input("shortlist.bias", "float32", ["slot", 1, plan.num_extra]))
    return graph.op("Concat", frequent, extra, axis=-1), words

"""A shortlist of target words per sentence: frequent words, and likely translations of the source's words.

The encode graph selects them and outputs their columns of the output projection; the step graph scores no other words.
A sentence's list depends on its own source alone, so its neighbours in a batch change nothing. Scores are
log-probabilities among the words of the list, or among all words in steps that are widened (widening.py).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from export.onnx_graph.builder import GraphBuilder
from export.onnx_graph.candidates import GROUP
from export.onnx_graph.linear import Array, Projection
from export.onnx_graph.word_lists import WordLists
from model.data.lexicon import Ids, Lexicon, smallest
from model.masks import HIDDEN
from server.artifact.signature import CONFIDENCE, LISTED_WORDS


@dataclass(frozen=True)
class Widening:
    """A step scores all words where the best listed word of a sentence's best hypothesis has a probability below
    `min_confidence`, or below `min_confidence_rare` in a sentence with a `rare` piece ([source words]), for which the
    lists are worth less. 0: never, 1: always."""

    min_confidence: float
    min_confidence_rare: float
    rare: NDArray[np.bool_]


@dataclass(frozen=True)
class ShortlistPlan:
    """`frequent` [n] word ids in ascending order are on every list; `num_extra` of the `others` (ascending, too), all
    other words that can be generated, are added by the source's words. Without `widening` no step scores other
    words."""

    lists: WordLists
    frequent: NDArray[np.int64]
    others: NDArray[np.int64]
    num_extra: int
    widening: Widening | None = None

    @property
    def size(self) -> int:
        return len(self.frequent) + self.num_extra

    @classmethod
    def of(
        cls,
        lists: Lexicon | WordLists,
        num_frequent: int,
        num_extra: int,
        by_frequency: Ids | NDArray[np.int64] | None = None,
    ) -> "ShortlistPlan":
        """`by_frequency`: all words that can be generated, where `lists` are no lexicon. Raises ValueError for sizes
        that are too large or no multiples of 64 (the size of groups of words)."""
        if isinstance(lists, Lexicon):
            by_frequency, lists = lists.by_frequency, WordLists.of(lists)
        assert by_frequency is not None
        words = by_frequency.astype(np.int64)
        if num_frequent % GROUP or num_extra % GROUP or min(num_frequent, num_extra) <= 0:
            raise ValueError(f"a shortlist has sizes in multiples of {GROUP}, not {num_frequent}+{num_extra}")
        if num_frequent + num_extra > len(words):
            raise ValueError(
                f"a shortlist of {num_frequent}+{num_extra} words is longer than the vocabulary ({len(words)})"
            )
        return cls(lists, np.sort(words[:num_frequent]), np.sort(words[num_frequent:]), num_extra)


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
    graph.output(graph.op("Concat", frequent, extra, axis=1), LISTED_WORDS, "int64", ["batch", plan.size])
    projection.give_columns(graph, extra, weight, plan.num_extra)
    if bias.any():
        of_extra = graph.unsqueeze(graph.op("Gather", graph.constant(bias), extra), 1)
        graph.output(of_extra, "shortlist.bias", "float32", ["batch", 1, plan.num_extra])
    if plan.widening is not None:
        graph.output(least_confidence(graph, ids, padding, plan.widening), CONFIDENCE, "float32", ["batch", 1])


def least_confidence(graph: GraphBuilder, ids: str, padding: str, widening: Widening) -> str:
    """The logarithm of the probability below which a step of each sentence scores all words: [batch, 1]."""
    rare = graph.op("Gather", graph.constant(widening.rare.astype(np.int32)), ids)
    has_rare = graph.op("ReduceMax", graph.op("Mul", rare, padding), graph.constant(np.array([1])), keepdims=1)
    low, high = map(log_confidence, (widening.min_confidence, widening.min_confidence_rare))
    is_rare = graph.op("Greater", has_rare, graph.constant(np.array(0, np.int32)))
    return graph.op("Where", is_rare, graph.constant(high), graph.constant(low))


def log_confidence(probability: float) -> np.float32:
    """Its logarithm; infinite for 1, so that every step is below it."""
    return np.float32(np.inf if probability >= 1 else math.log(probability) if probability > 0 else -np.inf)


def extra_words(graph: GraphBuilder, ids: str, padding: str, plan: ShortlistPlan) -> str:
    """The words outside the frequent ones that the source's words translate to with the largest summed weight, in
    ascending order: [batch, extra]."""
    others, lists, place = plan.others, plan.lists, places_of(plan)
    start = np.zeros((1, len(others) + 1), np.float32)
    for word, weight in lists.everywhere.items():
        start[0, place[word]] = weight
    start[0, len(others)] = HIDDEN
    batch = graph.op("Shape", ids, start=0, end=1)
    shape = graph.op("Concat", batch, graph.constant(np.array([len(others) + 1])), axis=0)
    empty = graph.op("Expand", graph.constant(start), shape)  # [batch, others + 1]

    words, kept = (
        of_table(graph, ids, padding, plan, place) if lists.width else of_rows(graph, ids, padding, plan, place)
    )
    flat = graph.constant(np.array([0, -1]))
    score = graph.op(
        "ScatterElements", empty, graph.op("Reshape", words, flat), graph.op("Reshape", kept, flat),
        axis=1, reduction="add",
    )  # fmt: skip
    count = graph.constant(np.array([plan.num_extra]))
    _, best = graph.node("TopK", [score, count], 2, axis=1)
    ordered, _ = graph.node("TopK", [best, count], 2, axis=1, largest=0)
    return graph.op("Gather", graph.constant(others), ordered)


def of_table(
    graph: GraphBuilder, ids: str, padding: str, plan: ShortlistPlan, place: NDArray[np.int64]
) -> tuple[str, str]:
    """Places and weights of the words that every piece lists, where all list equally many (k): both [batch, source,
    k]."""
    table = (len(plan.lists), -1)
    places = smallest(place[plan.lists.words], len(plan.others)).reshape(table)
    words = graph.op("Cast", graph.op("Gather", graph.constant(places), ids), to=7)
    weights = graph.op("Cast", graph.op("Gather", graph.constant(plan.lists.weight.reshape(table)), ids), to=1)
    return words, graph.op("Mul", weights, graph.unsqueeze(graph.op("Cast", padding, to=1), 2))


def of_rows(
    graph: GraphBuilder, ids: str, padding: str, plan: ShortlistPlan, place: NDArray[np.int64]
) -> tuple[str, str]:
    """The same of rows of any length, of which k is the longest of the batch; an entry behind the last of all, without
    weight, fills the others."""
    lists = plan.lists.without(place == len(plan.others))
    begins, one = graph.constant(lists.begin.astype(np.int32)), graph.constant(np.array(1))
    begin, end = graph.op("Gather", begins, ids), graph.op("Gather", begins, graph.op("Add", ids, one))
    length = graph.op("Mul", graph.op("Sub", end, begin), padding)  # int32, as padding is
    zero, step = (graph.constant(np.array(value, np.int32)) for value in (0, 1))
    longest = graph.op("Max", graph.op("ReduceMax", length, keepdims=0), step)
    counts = graph.op("Range", zero, longest, step)  # [k]
    at = graph.op("Add", graph.unsqueeze(begin, 2), counts)
    listed = graph.op("Less", counts, graph.unsqueeze(length, 2))
    at = graph.op("Where", listed, at, graph.constant(np.array(len(lists.words), np.int32)))
    places = smallest(np.append(place[lists.words], len(plan.others)), len(plan.others))
    words = graph.op("Cast", graph.op("Gather", graph.constant(places), at), to=7)
    weights = graph.op("Gather", graph.constant(np.append(lists.weight, np.float16(0))), at)
    return words, graph.op("Cast", weights, to=1)


def places_of(plan: ShortlistPlan) -> NDArray[np.int64]:
    """Every word's place among the others. Words that are on every list, or are never generated, share the place after
    the last: they have no scores."""
    vocabulary = max(int(words.max(initial=0)) for words in (plan.frequent, plan.others, plan.lists.words)) + 1
    place = np.full(vocabulary, len(plan.others), np.int64)
    place[plan.others] = np.arange(len(plan.others))
    return place


def project_shortlist(
    graph: GraphBuilder, projection: Projection, hidden: str, plan: ShortlistPlan, weight: Array, bias: Array
) -> tuple[str, str]:
    """hidden [slot, beam, d], weight [vocabulary, d], bias [vocabulary] -> logits [slot, beam, size] of the listed
    words, and the input that names them."""
    words = graph.input(LISTED_WORDS, "int64", ["slot", plan.size])
    frequent = projection.apply(graph, hidden, weight[plan.frequent], bias[plan.frequent])
    extra = projection.project_columns(graph, hidden, plan.num_extra, weight.shape[1])
    if bias.any():
        extra = graph.op("Add", extra, graph.input("shortlist.bias", "float32", ["slot", 1, plan.num_extra]))
    return graph.op("Concat", frequent, extra, axis=-1), words

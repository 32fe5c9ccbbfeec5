"""Shortlists of models that come with lists of likely translations, but without probabilities."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from export.onnx_graph.candidates import GROUP
from export.onnx_graph.shortlist import ShortlistPlan, Widening
from export.onnx_graph.word_lists import WordLists
from model.config import ModelConfig
from model.data.lexicon import smallest

LARGE_VOCABULARY = 8000
Lists = Sequence[Sequence[int]]
"""The ids that may translate each word of the source."""


def plan_of(lists: Lists, config: ModelConfig, everywhere: Sequence[int] = ()) -> ShortlistPlan | None:
    """Our shortlist, in which the words `everywhere` are on every list; None where the vocabulary is so small that it
    is not worth it. Every listed word has the same probability: words that many source words list come first, then
    those with lower ids, which are more frequent. Where the vocabulary is shared a word is listed for itself, as in
    Marian."""
    target_words = config.vocab_size - 1
    extra = 1024 if target_words > LARGE_VOCABULARY else 512
    suppressed = (*config.ids.suppressed, config.eos_id)
    first = [word for word in everywhere if word not in suppressed]
    frequent = -(-max(-(-target_words // 16), len(first) + 1) // GROUP) * GROUP
    if 2 * (extra + frequent) > target_words:
        return None
    known = {*suppressed, *first}
    others = [word for word in range(target_words) if word not in known]
    shared = config.source_embedding == "shared"
    full = [sorted({*listed, index} if shared else {*listed})[:extra] for index, listed in enumerate(lists)]
    full += [[] for _ in range(config.vocab_size - len(full))]
    by_frequency = smallest(np.array([config.eos_id, *first, *others]), config.vocab_size)
    return ShortlistPlan.of(WordLists.equal(full), frequent, extra, by_frequency)


def guarded(plan: ShortlistPlan, min_confidence: tuple[float, float]) -> ShortlistPlan:
    """The plan with steps that score all words (export/onnx_graph/widening.py): below the first confidence, and below
    the second in sentences with a piece for which the list has no other word than itself."""
    has_few = np.diff(plan.lists.begin) <= 1
    return dataclasses.replace(plan, widening=Widening(*min_confidence, has_few))

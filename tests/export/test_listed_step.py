"""The lists of a traced step over a shortlist are those of an ONNX graph."""

import random

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from export.listed_step import WordLists
from export.onnx_graph import word_lists
from export.onnx_graph.shortlist import ShortlistPlan
from tests.export.test_shortlist import extra_of, padded


@settings(max_examples=6)
@given(
    seed=st.integers(0, 99),
    sources=st.lists(st.lists(st.integers(0, 299), min_size=1, max_size=6), min_size=1, max_size=3),
)
def test_lists_are_those_of_the_onnx_graph_at_every_precision(seed: int, sources: list[list[int]]) -> None:
    """Rows of any length, also empty, words listed twice, words that are never generated, ties."""
    generator = random.Random(seed)
    lengths = [generator.randrange(9) for _ in range(300)]
    words = np.array([generator.randrange(300) for _ in range(sum(lengths))], np.int64)
    weight = np.array([generator.randrange(1, 9) / 8 for _ in words], np.float16)
    begin = np.concatenate([[0], np.cumsum(lengths)])
    generated = np.array([7, *range(20, 300), *range(4, 7), *range(8, 20)])
    plan = ShortlistPlan.of(word_lists.WordLists(begin, words, weight, {9: 0.5}), 64, 64, generated)
    ids, keep = map(torch.from_numpy, padded(sources))
    for module in (WordLists(plan, None), WordLists(plan, None).half(), WordLists(plan, None).bfloat16()):
        assert module.extra_words(ids, keep).tolist() == extra_of(plan, sources)

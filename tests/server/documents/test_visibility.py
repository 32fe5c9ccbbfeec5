"""Who sees whom."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.backends.context import ContextAttention
from server.documents.attention_weights import MAX_CONTEXT_USED, largest, weights_by_sentence
from server.documents.visibility import affected, distances, sees
from server.stores.records import Mode
from tests.server.documents.some import sentence

MODES: st.SearchStrategy[Mode] = st.sampled_from(["offline", "online"])
REACHES = st.sampled_from([None, 1, 3, 20])
OWNERS = st.lists(st.integers(0, 9), max_size=20).map(sorted)


@settings(deadline=None)
@given(mode=MODES, index=st.integers(0, 9), owners=OWNERS, reach=REACHES)
def test_distances_are_of_those_that_a_sentence_sees(
    mode: Mode, index: int, owners: list[int], reach: int | None
) -> None:
    result = distances(mode, index, np.array(owners, np.int64), reach)
    assert result.tolist() == [abs(owner - index) if sees(mode, index, owner, reach) else 0 for owner in owners]


@settings(deadline=None)
@given(mode=MODES, count=st.integers(0, 9), changed=st.integers(0, 8), reach=REACHES)
def test_affected_are_those_that_see_a_change(mode: Mode, count: int, changed: int, reach: int | None) -> None:
    result = affected(mode, changed, [sentence(index) for index in range(count)], reach)
    assert [sentence.index for sentence in result] == [
        index for index in range(count) if sees(mode, index, changed, reach)
    ]


def test_a_reach_ends_after_so_many_sentences() -> None:
    assert [other for other in range(9) if sees("offline", 4, other, 2)] == [2, 3, 5, 6]
    assert [other for other in range(9) if sees("online", 4, other, 2)] == [2, 3]


def test_nobody_sees_itself_and_online_nobody_the_future() -> None:
    for index in range(5):
        assert not sees("offline", index, index)
        assert [other for other in range(5) if sees("online", index, other)] == list(range(index))


@settings(deadline=None)
@given(owners=OWNERS, seed=st.integers(0, 99))
def test_weights_of_parts_add_up(owners: list[int], seed: int) -> None:
    weights = np.random.default_rng(seed).random((3, len(owners)), np.float32)
    summed = weights_by_sentence(ContextAttention(weights, 0.5), np.array([*owners, 10, 11], np.int64))
    assert list(summed) == sorted(set(owners))
    for owner, by_head in summed.items():
        mine = [place for place, other in enumerate(owners) if other == owner]
        assert by_head == pytest.approx(weights[:, mine].sum(axis=1), abs=1e-5)


@settings(deadline=None)
@given(weights=st.dictionaries(st.integers(0, 50), st.sampled_from([0.0, 0.1, 0.25, 0.5])))
def test_the_largest_are_kept(weights: dict[int, float]) -> None:
    kept = largest(weights)
    assert len(kept) == min(MAX_CONTEXT_USED, sum(weight > 0 for weight in weights.values()))
    assert all(weights[index] == weight > 0 for index, weight in kept)
    assert [weight for _, weight in kept] == sorted((weight for _, weight in kept), reverse=True)
    left = [weight for index, weight in weights.items() if index not in dict(kept)]
    assert not kept or not left or max(left) <= min(weight for _, weight in kept)

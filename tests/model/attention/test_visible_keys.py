"""Ranks and sums over keys by position: running sums where keys are in order, comparisons where they are not."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from model.attention.visible_keys import VisibleKeys

QUERY = torch.zeros(1, 1, dtype=torch.int64)
"""The position of queries, which the order of keys does not ask for."""


def some_keep(batch: int, queries: int, keys: int, seed: int) -> Tensor:
    return torch.rand(batch, 1, queries, keys, generator=torch.Generator().manual_seed(seed)) > 0.3


@settings(deadline=None, max_examples=30)
@given(keys=st.integers(1, 12), seed=st.integers(0, 99))
def test_sums_and_ranks_of_permuted_keys_are_the_permuted_ones(keys: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    keep, position = some_keep(2, 3, keys, seed), torch.arange(keys)[None] * 2
    weight = torch.rand(2, 4, 3, keys, generator=generator) * keep
    permutation = torch.randperm(keys, generator=generator)
    straight = VisibleKeys(keep, QUERY, position, ordered=True)
    shuffled = VisibleKeys(keep[..., permutation], QUERY, position[:, permutation], ordered=False)
    torch.testing.assert_close(
        shuffled.prefix_sum(weight[..., permutation]), straight.prefix_sum(weight)[..., permutation]
    )
    torch.testing.assert_close(
        shuffled.suffix_sum(weight[..., permutation]), straight.suffix_sum(weight)[..., permutation]
    )
    torch.testing.assert_close(shuffled.rank, straight.rank[..., permutation])
    torch.testing.assert_close(shuffled.count, straight.count)


@given(seed=st.integers(0, 99))
def test_sums_are_the_double_loop(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    position = torch.randperm(7, generator=generator)[None]
    weight = torch.rand(1, 1, 1, 7, generator=generator)
    order = VisibleKeys(torch.ones(1, 1, 1, 7, dtype=torch.bool), QUERY, position, ordered=False)
    for j in range(7):
        before = sum(float(weight[0, 0, 0, x]) for x in range(7) if position[0, x] <= position[0, j])
        after = sum(float(weight[0, 0, 0, x]) for x in range(7) if position[0, x] >= position[0, j])
        assert abs(float(order.prefix_sum(weight)[0, 0, 0, j]) - before) < 1e-6
        assert abs(float(order.suffix_sum(weight)[0, 0, 0, j]) - after) < 1e-6


def test_keys_that_share_a_position_but_no_query_do_not_disturb_each_other() -> None:
    """Two beams, three steps each: entry 2t + beam holds position t."""
    position = torch.tensor([[0, 0, 1, 1, 2, 2]])
    keep = torch.tensor([[1, 0, 1, 0, 1, 0], [1, 0, 0, 1, 0, 1]], dtype=torch.bool)[None, None]
    rank = VisibleKeys(keep, QUERY, position, ordered=False).rank[0, 0]
    assert rank[0, keep[0, 0, 0]].tolist() == [1, 2, 3]
    assert rank[1, keep[0, 0, 1]].tolist() == [1, 2, 3]


def test_segments_count_from_the_first_visible_key() -> None:
    keep = torch.tensor([0, 0, 1, 1, 1, 1, 1, 0], dtype=torch.bool)[None, None, None]
    members = VisibleKeys(keep, QUERY, torch.arange(8)[None], ordered=True).segment_members(2)[0, 0]
    assert [members[:, j].argmax().item() for j in range(2, 7)] == [0, 0, 1, 1, 2]
    assert members[:, 2:7].sum(dim=0).tolist() == [1] * 5

"""The keys that the queries of an attention may attend to, and their order: ranks, prefix sums and suffix sums.

Keys may lie anywhere in memory (a ring; the rings of several beams side by side), and two keys may share a position
as long as no query sees both. Where the caller knows that memory order is position order (encoder, cross-attention,
teacher forcing) the sums are running sums. A Python flag chooses between the two, so a graph holds one of them and no
branch.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


@dataclass(frozen=True)
class VisibleKeys:
    """The keys that each query may attend to, and their order. All layers of a pass share one value."""

    keep: Tensor
    """bool, broadcastable to [batch, heads, query, key]"""
    query_position: Tensor
    """[batch or 1, query], absolute"""
    key_position: Tensor
    """[batch or 1, key], absolute"""
    ordered: bool = True
    """Keys lie in memory by rising position."""

    @cached_property
    def _not_after(self) -> Tensor:
        """[batch or 1, x, j], 1.0 where key x stands at or before key j."""
        return (self.key_position[:, :, None] <= self.key_position[:, None, :]).float()

    def prefix_sum(self, weight: Tensor) -> Tensor:
        """weight [batch, heads, query, key], zero at hidden keys -> sum of the weights at or before every key."""
        return weight.cumsum(dim=-1) if self.ordered else _sum_over(weight, self._not_after)

    def suffix_sum(self, weight: Tensor) -> Tensor:
        """weight [batch, heads, query, key], zero at hidden keys -> sum of the weights at or after every key."""
        if self.ordered:
            return weight.flip(-1).cumsum(dim=-1).flip(-1)
        return _sum_over(weight, self._not_after.transpose(1, 2))

    @cached_property
    def rank(self) -> Tensor:
        """1 for a query's first visible key, 2 for its second, ...: fp32, the shape of `keep`.

        A hidden key has the number of visible keys before it.
        """
        return self.prefix_sum(self.keep.float())

    @cached_property
    def count(self) -> Tensor:
        """Number of visible keys: fp32, the shape of `keep` with 1 key."""
        return self.keep.float().sum(dim=-1, keepdim=True)

    def segment_members(self, size: int) -> Tensor:
        """Which visible keys form each run of `size` keys, counted from the first visible one.

        keep must be [batch, 1, 1, key], the same for every query. Returns fp32 [batch, 1, segment, key], with
        ceil(key/size) segments; a hidden key may be in some segment.
        """
        start = torch.arange(0, self.keep.shape[-1], size, device=self.keep.device)[:, None]  # [segment, 1]
        offset = self.rank - 1 - start  # [batch, 1, segment, key]
        return ((offset >= 0) & (offset < size)).float()


def _sum_over(weight: Tensor, relation: Tensor) -> Tensor:
    """weight [batch, heads, query, x], relation [batch or 1, x, j] -> [batch, heads, query, j]; heads and queries
    share one axis, so that the relation is not repeated for every head."""
    return torch.matmul(weight.flatten(1, 2), relation).view(weight.shape)

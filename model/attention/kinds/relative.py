"""Relative positions (Shaw et al. 2018, "Self-Attention with Relative Position Representations").

Every distance key-query, clipped to +-16, has a vector that is added to the key (Eq. 4) and one that is added to the
value (Eq. 3). Sums over keys are taken by distance first, so that no tensor [query, key, head_dim] is made.

Differs from the paper: the absolute sinusoids stay beside the distances (`positions` of the model's configuration),
where Shaw et al. replace them. The energies of the vectors are gathered from q @ table.T rather than by the paper's
reshaped product; the result is the same. Masked keys have distances too, which never reach the output.
"""

import torch
from torch import Tensor, nn

from model.attention.scaled_dot_product import scaled
from model.attention.terms import AttentionTerm
from model.attention.visible_keys import VisibleKeys

FARTHEST = 16
"""Distances beyond this share a vector (the paper's k)."""


class RelativePositions(AttentionTerm):
    """One table for keys and one for values, [33, head_dim], shared by the heads of a layer."""

    adam_matrices = ("rel_k", "rel_v")

    def __init__(self, head_dim: int) -> None:
        super().__init__()
        self.rel_k = nn.Parameter(torch.empty(2 * FARTHEST + 1, head_dim))
        self.rel_v = nn.Parameter(torch.empty(2 * FARTHEST + 1, head_dim))
        nn.init.xavier_uniform_(self.rel_k)
        nn.init.xavier_uniform_(self.rel_v)

    def energy(self, query: Tensor, key: Tensor, visible: VisibleKeys) -> Tensor:
        """q.rel_k[distance]/sqrt(head_dim): [batch, heads, query, key] (Eq. 4)."""
        by_distance = torch.matmul(scaled(query), self.rel_k.T).float()  # [batch, heads, query, 33]
        index = distance_index(visible.query_position, visible.key_position)
        return by_distance.gather(-1, index.expand(*by_distance.shape[:-1], -1))

    def value(self, weights: Tensor, visible: VisibleKeys) -> Tensor:
        """Sum over keys of weight * rel_v[distance]: [batch, heads, query, head_dim] (Eq. 3)."""
        index = distance_index(visible.query_position, visible.key_position)
        by_distance = weights.new_zeros(*weights.shape[:-1], 2 * FARTHEST + 1)
        by_distance = by_distance.scatter_add(-1, index.expand(weights.shape), weights)
        return torch.matmul(by_distance, self.rel_v.float())


def distance_index(query_position: Tensor, key_position: Tensor) -> Tensor:
    """Row of the tables for every pair: [batch or 1, 1, query, key], from positions [batch or 1, query or key]."""
    distance = key_position[:, None, None, :] - query_position[:, None, :, None]
    return distance.clamp(-FARTHEST, FARTHEST) + FARTHEST

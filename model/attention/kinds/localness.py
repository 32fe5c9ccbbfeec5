"""Gaussian localness (Yang et al. 2018, "Modeling Localness for Self-Attention Networks").

Every query and head predicts a centre P and a window D among its visible keys, and the energies gain
G = -(r - P)^2 / (2 sigma^2) with sigma = D/2, where r = 1, 2, ... numbers the visible keys (Eq. 4-6). D is one of
these (section 3.2):

    fixed   10 for all, no parameter
    layer   from the mean of the visible keys' projections, one window per head (Eq. 8)
    query   from the query, like the centre (Eq. 9)
    head    one learned number per head, up to 50 (the paper's analysis, Eq. 11)

Differs from the paper: its I is the length of the sentence, here the number of keys the query sees, and r counts from
the first of them. For an encoder that is the same; in a decoder with an N-gram window the centre stays inside the
window, and training and stepwise decoding agree. Every linear map has a bias, which the equations lack. 0.1 is added to
the window, as in the authors' code, so that it is never 0.
The coordinates are the paper's unless `coordinates` says "thumt", the authors' code: r - 1 and P = (I-1) sigmoid(p).
"""

import torch
from torch import Tensor, nn

from model.attention.scaled_dot_product import merge_heads
from model.attention.terms import AttentionTerm
from model.attention.visible_keys import VisibleKeys
from model.config import AttentionConfig, ModelConfig
from model.symbolic import cast_like

FIXED_WINDOW = 10.0
WIDEST_HEAD_WINDOW = 50.0
NARROWEST = 0.1
"""Added to every predicted window; at 0 the nearest key's energy would be minus infinity."""


class GaussianLocalness(AttentionTerm):
    """The term G. The maps from d to heads are dense: every head's centre depends on the whole query."""

    adam_matrices = ("center.weight", "spread.weight")

    def __init__(self, d_model: int, num_heads: int, window: str, coordinates: str) -> None:
        super().__init__()
        self.window, self.coordinates = window, coordinates
        self.hidden = nn.Linear(d_model, d_model)
        self.center = nn.Linear(d_model, num_heads)
        match window:
            case "layer":
                self.mean_key = nn.Linear(d_model, d_model)
                self.spread = nn.Linear(d_model, num_heads)
            case "query":
                self.spread = nn.Linear(d_model, num_heads)
            case "head":
                self.head_window = nn.Parameter(torch.zeros(num_heads))

    def energy(self, query: Tensor, key: Tensor, visible: VisibleKeys) -> Tensor:
        """G, [batch, heads, query, key], fp32 and never above zero (Eq. 4)."""
        hidden = self.hidden_query(query)
        center = torch.sigmoid(per_head(self.center, hidden))  # [batch, heads, query, 1]
        window = self.window_size(hidden, key, visible)
        first = 1 if self.coordinates == "thumt" else 0
        return gaussian(visible.rank - first, (visible.count - first) * center, window)

    def hidden_query(self, query: Tensor) -> Tensor:
        """query [batch, heads, query, head_dim] -> [batch, query, d]"""
        return torch.tanh(self.hidden(merge_heads(query)))

    def window_sizes(self, query: Tensor, key: Tensor, visible: VisibleKeys) -> Tensor:
        """D of every query, [batch, heads, query, 1], fp32; arguments as those of `energy`."""
        return self.window_size(self.hidden_query(query), key, visible).expand(*query.shape[:3], 1)

    def window_size(self, hidden: Tensor, key: Tensor, visible: VisibleKeys) -> Tensor:
        """hidden [batch, query, d] -> D, fp32, broadcastable to [batch, heads, query, 1]."""
        match self.window:
            case "fixed":
                return torch.full_like(visible.count, FIXED_WINDOW)
            case "head":
                return WIDEST_HEAD_WINDOW * torch.sigmoid(self.head_window.float())[:, None, None] + NARROWEST
            case "layer":
                hidden = torch.tanh(self.mean_key(mean_visible_key(key, visible)))  # [batch, query or 1, d]
        return visible.count * torch.sigmoid(per_head(self.spread, hidden)) + NARROWEST


def build(config: ModelConfig, attention: AttentionConfig) -> GaussianLocalness:
    return GaussianLocalness(config.d_model, config.num_heads, attention.gauss_window, attention.gauss_coords)


def gaussian(coordinate: Tensor, center: Tensor, window: Tensor) -> Tensor:
    """-2 (r - P)^2 / D^2, which is Eq. 4 with sigma = D/2 (Eq. 5). fp32, broadcast against each other."""
    return -2 * ((coordinate - center) / window).square()


def per_head(linear: nn.Linear, hidden: Tensor) -> Tensor:
    """hidden [batch, query, d] -> [batch, heads, query, 1], in fp32: a window in bf16 would come in coarse steps."""
    mapped = nn.functional.linear(hidden.float(), linear.weight.float(), linear.bias.float())
    return mapped.transpose(1, 2)[..., None]


def mean_visible_key(key: Tensor, visible: VisibleKeys) -> Tensor:
    """Mean of the visible keys, key [batch, heads, key, head_dim] -> [batch, query or 1, d] in the keys' precision,
    summed in fp32 at least.

    One row for all queries where they see the same keys.
    """
    precision = torch.promote_types(key.dtype, torch.float32)
    share = visible.keep.to(precision) / visible.count.clamp(min=1)  # [batch or 1, 1, query or 1, key]
    return cast_like(merge_heads(torch.matmul(share, key.to(precision))), key)

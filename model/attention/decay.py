"""Decay with distance: the energy of a sentence falls by a rate for every sentence between it and the query.

Not in Maruf et al. 2019, whose attention does not depend on the distance between sentences. The same as linear biases
by position (Press et al. 2022, "Train Short, Test Long"), counted in sentences."""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from model.symbolic import cast_like

FIRST_RATE = 0.1
"""Initial value of learned rates."""


class Decay(nn.Module):
    """`decay`: None, a fixed rate for all heads, or "learned", a rate from 0 on for every head."""

    def __init__(self, num_heads: int, decay: float | str | None) -> None:
        super().__init__()
        self.rate: float | None = None
        self.raw_rates: nn.Parameter | None = None
        if decay == "learned":
            self.raw_rates = nn.Parameter(torch.full((num_heads,), math.log(math.expm1(FIRST_RATE))))
        elif decay is not None:
            self.rate = float(decay)

    def forward(self, distance: Tensor) -> Tensor | None:
        """distance [batch, 1 or query, J]: how many sentences away each sentence is, from 1 on (any value where it is
        hidden). Returns the bias of the energies, [batch, heads or 1, 1 or query, J]; None without decay."""
        if self.raw_rates is not None:
            rates: Tensor | float = softplus(self.raw_rates)[:, None, None]
        elif self.rate is not None:
            rates = self.rate
        else:
            return None
        distance = distance[:, None]
        rate = self.raw_rates
        steps = distance.to(torch.get_default_dtype()) if rate is None else cast_like(distance, rate)
        return -rates * (steps - 1).clamp(min=0)


def with_decay(energy: Tensor, decay: Tensor | None) -> Tensor:
    """Energies [batch, heads, query, J] plus the bias of Decay."""
    return energy if decay is None else energy + cast_like(decay, energy)


def per_word(decay: Tensor, words: int) -> Tensor:
    """The bias of Decay for sentences [..., J], repeated for each of their `words` words: [..., J*words]."""
    return decay[..., None].expand(*decay.shape, words).flatten(-2)

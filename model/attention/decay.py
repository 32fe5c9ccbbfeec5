"""How much less a sentence counts the further away it is: its energy falls by a rate for every sentence between.

Beyond Maruf et al. 2019, whose attention knows no distance: to it the noun of the sentence before looks like one of
fifty sentences ago. The same as linear biases by position (Press et al. 2022, "Train Short, Test Long"), in sentences.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

FIRST_RATE = 0.1
"""Where learned rates begin."""


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
        """distance [batch, 1 or query, J]: how many sentences away each is, from 1 on (anything where it is not seen).
        Returns what is added to energies, [batch, heads or 1, 1 or query, J]; None without decay."""
        if self.raw_rates is not None:
            rates: Tensor | float = softplus(self.raw_rates)[:, None, None]
        elif self.rate is not None:
            rates = self.rate
        else:
            return None
        return -rates * (distance[:, None].to(self.dtype) - 1).clamp(min=0)

    @property
    def dtype(self) -> torch.dtype:
        return torch.get_default_dtype() if self.raw_rates is None else self.raw_rates.dtype


def decayed(energy: Tensor, decay: Tensor | None) -> Tensor:
    """Energies [batch, heads, query, J] with what Decay adds."""
    return energy if decay is None else energy + decay.to(energy.dtype)


def of_words(decay: Tensor, words: int) -> Tensor:
    """What Decay adds for sentences [..., J], for each of their `words` words: [..., J*words]."""
    return decay[..., None].expand(*decay.shape, words).flatten(-2)

"""A decoder layer without attention to the past: its past is one vector a row, a linear recurrence over the target.

c_t = f_t * c_(t-1) + a_t, element by element, with c before the first token 0. The gates f and a depend on the layer's
input alone, so a whole target is computed in as many passes as its length has bits (Hillis and Steele 1986, "Data
Parallel Algorithms"), and a step needs nothing of the past but c.
"""

import torch
from torch import Tensor, nn

from model.symbolic import is_traced

Gates = tuple[Tensor, Tensor]
"""f and a of every position, each [batch, target, d]."""


class RecurrentCell(nn.Module):
    """The place of a decoder's self-attention. A subclass defines `project_memory` and `forward`."""

    memory_names: tuple[str, ...] = ("cell",)

    def __init__(self, max_length: int) -> None:
        super().__init__()
        self.max_length = max_length

    def project_memory(self, x: Tensor) -> Gates:
        """x [batch, target, d] -> the gates of its positions."""
        raise NotImplementedError

    def forward(self, x: Tensor, cells: tuple[Tensor, ...], visible: object = None) -> Tensor:
        """cells, c of the same positions [batch, target, d] -> the layer's result before the residual sum."""
        raise NotImplementedError

    def scan(self, gates: tuple[Tensor, ...]) -> tuple[Tensor]:
        """c of every position of a target that begins at its first token."""
        forget, added = gates
        # A graph is traced once for targets of every length.
        longest = self.max_length if is_traced() else added.shape[1]
        for power in range((longest - 1).bit_length()):
            before = 1 << power
            added = added + forget * shifted(added, before, 0.0)
            forget = forget * shifted(forget, before, 1.0)
        return (added,)


def shifted(values: Tensor, by: int, first: float) -> Tensor:
    """values [batch, target, d] moved `by` positions to the right, behind positions that are `first`."""
    before = torch.full_like(values[:, :1], first).expand(-1, by, -1)  # the exporter of nn.functional.pad warns
    return torch.cat([before, values], dim=1)[:, : values.shape[1]]


def advance(gates: tuple[Tensor, ...], past: Tensor, position: Tensor) -> tuple[Tensor]:
    """c after one more token of every row: gates and past, c before it, [batch, row, d], position [batch]. At
    position 0 there is no past, whatever `past` holds."""
    forget, added = gates
    past = torch.where((position > 0)[:, None, None], past, torch.zeros_like(past))
    return (forget * past + added,)

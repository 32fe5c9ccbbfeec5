"""The decoder's memory: a ring of fixed capacity per row (Chelba et al. 2019, section 2: "indexing the buffer modulo
N-1").

A target token at position t lies in slot t mod capacity. Which position a slot holds follows from t alone, so
nothing but the projected tensors is stored. Full attention is the same ring with capacity = maximum length.
Every function works on a batch whose rows stand at different positions.
"""

import torch
from torch import Tensor


def ring_positions(position: Tensor, capacity: int) -> Tensor:
    """Absolute position held by each slot once the token at `position` [batch] is written: [batch, capacity].

    Negative where the slot is still empty.
    """
    slots = torch.arange(capacity, device=position.device)
    now = position[:, None]
    return now - torch.remainder(now - slots, capacity)


def ring_write(buffer: Tensor, new: Tensor, position: Tensor) -> Tensor:
    """Put `new` [batch, heads, 1, head_dim] into slot position mod capacity of `buffer` [batch, heads, capacity,
    head_dim].

    Out of place: the caller keeps the returned tensor.
    """
    slots = torch.arange(buffer.shape[2], device=position.device)
    here = slots == torch.remainder(position, buffer.shape[2])[:, None]
    return torch.where(here[:, None, :, None], new, buffer)

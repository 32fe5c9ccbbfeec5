"""Sparsemax (Martins and Astudillo 2016): the point of the probability simplex nearest to the energies.

Unlike softmax it gives exact zeros, so that whole sentences can be skipped.
"""

import torch
from torch import Tensor

from model.attention.scaled_dot_product import MASKED_ENERGY

BELOW_SUPPORT = -2.0
"""The energy of a masked entry after the largest kept one was shifted to 0. Entries at or below -1 have weight zero, so
the result is exact."""


def sparsemax(energy: Tensor, keep: Tensor) -> Tensor:
    """argmin over the simplex of |p - energy|^2, over the kept entries of the last axis.

    energy [..., key], keep bool broadcastable to it. Returns fp32 weights of energy's shape; a row without any kept
    key gives zeros. With the energies sorted downwards as s, the support is the longest prefix with
    1 + k s_k > s_1 + ... + s_k and the threshold tau = (sum over the support - 1) / its size (Algorithm 1).
    The support is a comparison, so autograd yields the exact Jacobian diag(support) - support support' / size.
    """
    energy = energy.float().masked_fill(~keep, MASKED_ENERGY)
    largest = energy.detach().amax(dim=-1, keepdim=True)
    shifted = (energy - largest).masked_fill(~keep, BELOW_SUPPORT)
    descending = shifted.sort(dim=-1, descending=True).values
    rank = torch.arange(1, energy.shape[-1] + 1, device=energy.device, dtype=energy.dtype)
    support = (1 + rank * descending > descending.cumsum(dim=-1)).to(energy.dtype)
    threshold = ((descending * support).sum(dim=-1, keepdim=True) - 1) / support.sum(dim=-1, keepdim=True)
    return torch.relu(shifted - threshold) * keep

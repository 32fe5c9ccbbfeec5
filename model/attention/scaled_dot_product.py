"""softmax(QK)V, the only one in the project (Vaswani et al. 2017, Eq. 1), with masked rows that stay finite."""

import math

import torch
from torch import Tensor

MASKED_ENERGY = -1e30


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """[batch, length, d] -> [batch, heads, length, head_dim]"""
    batch, length, width = x.shape
    return x.view(batch, length, num_heads, width // num_heads).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """[batch, heads, length, head_dim] -> [batch, length, d]"""
    batch, heads, length, head_dim = x.shape
    return x.transpose(1, 2).reshape(batch, length, heads * head_dim)


def attention_energy(query: Tensor, key: Tensor) -> Tensor:
    """q.k/sqrt(head_dim): [batch, heads, query, head_dim] x [batch, heads, key, head_dim] -> [..., query, key]"""
    return torch.matmul(query * (1.0 / math.sqrt(query.shape[-1])), key.transpose(-2, -1))


def masked_softmax(energy: Tensor, keep: Tensor) -> Tensor:
    """Softmax over the kept keys in fp32; a row without any kept key gives zeros, never NaN.

    energy [batch, heads, query, key], keep bool broadcastable to it. Returns fp32 weights of energy's shape.
    """
    weights = torch.softmax(energy.float().masked_fill(~keep, MASKED_ENERGY), dim=-1)
    return weights * keep


def attend(query: Tensor, key: Tensor, value: Tensor, keep: Tensor) -> Tensor:
    """Plain attention. query [batch, heads, query, head_dim], key and value [batch, heads, key, head_dim],
    keep bool broadcastable to [batch, heads, query, key]. Returns [batch, heads, query, head_dim]."""
    weights = masked_softmax(attention_energy(query, key), keep)
    return torch.matmul(weights.to(value.dtype), value)

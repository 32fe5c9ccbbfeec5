"""Scaled dot-product attention (Vaswani et al. 2017, Eq. 1) and its parts. A row without a visible key gives zeros."""

import math
from typing import Any

import torch
from torch import Tensor

from model.symbolic import cast_like, constant, shaped, sizes_of, with_symbolic

MASKED_ENERGY = -1e30
"""Energy of a key that a query may not see, before the softmax: finite, so that a row without visible keys is too."""


def symbolic_split(graph: Any, x: Any, num_heads: int) -> Any:
    batch, length, width = sizes_of(x)
    parts = graph.op("Reshape", x, constant(graph, [0, 0, num_heads, -1]))
    head_dim = None if width is None else width // num_heads
    shaped(parts, x, [batch, length, num_heads, head_dim])
    return shaped(graph.op("Transpose", parts, perm_i=[0, 2, 1, 3]), x, [batch, num_heads, length, head_dim])


def symbolic_merge(graph: Any, x: Any) -> Any:
    batch, heads, length, head_dim = sizes_of(x)
    turned = shaped(graph.op("Transpose", x, perm_i=[0, 2, 1, 3]), x, [batch, length, heads, head_dim])
    width = None if heads is None or head_dim is None else heads * head_dim
    return shaped(graph.op("Reshape", turned, constant(graph, [0, 0, -1])), x, [batch, length, width])


def symbolic_halves(graph: Any, x: Any) -> Any:
    batch, length, width = sizes_of(x)
    parts = graph.op("Split", x, axis_i=-1, num_outputs_i=2, outputs=2)
    return tuple(shaped(part, x, [batch, length, None if width is None else width // 2]) for part in parts)


@with_symbolic(symbolic_halves)
def halves(x: Tensor) -> tuple[Tensor, Tensor]:
    """[batch, length, 2d] -> the first and the second [batch, length, d]"""
    first, second = x.chunk(2, dim=-1)
    return first, second


@with_symbolic(symbolic_split)
def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """[batch, length, d] -> [batch, heads, length, head_dim]"""
    batch, length, width = x.shape
    return x.view(batch, length, num_heads, width // num_heads).transpose(1, 2)


@with_symbolic(symbolic_merge)
def merge_heads(x: Tensor) -> Tensor:
    """[batch, heads, length, head_dim] -> [batch, length, d]"""
    batch, heads, length, head_dim = x.shape
    return x.transpose(1, 2).reshape(batch, length, heads * head_dim)


def symbolic_scaled(graph: Any, query: Any) -> Any:
    head_dim = sizes_of(query)[-1]
    assert head_dim is not None
    return shaped(graph.op("Mul", query, constant(graph, 1.0 / math.sqrt(head_dim))), query, sizes_of(query))


@with_symbolic(symbolic_scaled)
def scaled(query: Tensor) -> Tensor:
    """query/sqrt(head_dim), head_dim being the last axis"""
    return query * (1.0 / math.sqrt(query.shape[-1]))


def attention_energy(query: Tensor, key: Tensor) -> Tensor:
    """q.k/sqrt(head_dim): [batch, heads, query, head_dim] x [batch, heads, key, head_dim] -> [..., query, key]"""
    return torch.matmul(scaled(query), key.transpose(-2, -1))


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
    return torch.matmul(cast_like(weights, value), value)

"""Attention with terms that are added to the energies or to the values, each term a module of its own.

A term depends on the query, the keys and their order, but on no other term.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from model.attention.multi_head import MultiHeadAttention
from model.attention.scaled_dot_product import attention_energy, masked_softmax, merge_heads, split_heads
from model.attention.visible_keys import VisibleKeys
from model.symbolic import cast_like


class AttentionTerm(nn.Module):
    """A term of plain attention. A subclass overrides `energy`, and `value` if it adds to values as well."""

    def energy(self, query: Tensor, key: Tensor, visible: VisibleKeys) -> Tensor:
        """query [batch, heads, query, head_dim], not scaled, key [batch, heads, key, head_dim] -> fp32, broadcastable
        to [batch, heads, query, key]."""
        raise NotImplementedError

    def value(self, weights: Tensor, visible: VisibleKeys) -> Tensor | None:
        """weights [batch, heads, query, key] fp32 -> fp32 [batch, heads, query, head_dim], or None for nothing."""
        return None


class TermedAttention(MultiHeadAttention):
    """softmax(qk/sqrt(head_dim) + energies of the terms) v + values of the terms."""

    def __init__(self, d_model: int, num_heads: int, terms: Mapping[str, AttentionTerm]) -> None:
        super().__init__(d_model, num_heads)
        self.terms = nn.ModuleDict(terms)

    def forward(self, x: Tensor, memory: tuple[Tensor, ...], visible: VisibleKeys) -> Tensor:
        """See MultiHeadAttention.forward."""
        _, value = memory
        weights = self.weights(x, memory, visible)
        attended = torch.matmul(cast_like(weights, value), value)
        for term in self._terms():
            extra = term.value(weights, visible)
            if extra is not None:
                attended = attended + cast_like(extra, value)
        return self.output(merge_heads(attended))  # type: ignore[no-any-return]

    def weights(self, x: Tensor, memory: tuple[Tensor, ...], visible: VisibleKeys) -> Tensor:
        """See MultiHeadAttention.weights."""
        key, _ = memory
        query = split_heads(self.query(x), self.num_heads)
        energy = attention_energy(query, key).float()
        for term in self._terms():
            energy = energy + term.energy(query, key, visible)
        return masked_softmax(energy, visible.keep)

    def _terms(self) -> list[AttentionTerm]:
        """The terms, typed."""
        return [term for term in self.terms.values() if isinstance(term, AttentionTerm)]

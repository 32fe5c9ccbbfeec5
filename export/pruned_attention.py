"""Hierarchical attention to a document of many sentences that computes only the words of sentences with a weight.

Sparsemax gives a head and a query few sentences with a weight, however many there are; the others add exactly zero
(Maruf et al. 2019, Eq. 3-5). Equals model.attention.selective; the amount of computation depends on the data.
"""

import torch
from torch import Tensor

from export.paged_attention import Pages, by_page
from model.attention.scaled_dot_product import MASKED_ENERGY, merge_heads, scaled
from model.attention.selective import AttentionOutput, HierarchicalAttention
from model.attention.sparsemax import BELOW_SUPPORT

NEWTON_STEPS = 4
"""Enough for few candidates; the number changes the time, not the result."""
MARGIN = 1e-4
"""Far above the rounding of a threshold between -1 and 0."""


def sparsemax_of_many(energy: Tensor, keep: Tensor) -> Tensor:
    """model.attention.sparsemax.sparsemax without sorting all of many keys: energy [..., key], keep bool broadcastable
    to it.

    The threshold is where sum(relu(energy - threshold)) falls to one. That sum is convex, so Newton's steps from below
    never exceed it: only energies above the last step are sorted.
    """
    largest = energy.masked_fill(~keep, -torch.inf).amax(dim=-1, keepdim=True).clamp(min=MASKED_ENERGY)
    shifted = (energy - largest).masked_fill(~keep, BELOW_SUPPORT)
    below = torch.full_like(largest, -1.0)
    for _ in range(NEWTON_STEPS):
        above = (shifted > below).to(shifted.dtype)
        below = ((shifted * above).sum(dim=-1, keepdim=True) - 1) / above.sum(dim=-1, keepdim=True).clamp(min=1)
    candidates = (shifted > below - MARGIN).sum(dim=-1).max().clamp(min=1)
    descending = shifted.topk(candidates, dim=-1).values  # type: ignore[arg-type]
    rank = torch.arange(1, descending.shape[-1] + 1, device=energy.device, dtype=energy.dtype)
    support = (1 + rank * descending > descending.cumsum(dim=-1)).to(energy.dtype)
    threshold = ((descending * support).sum(dim=-1, keepdim=True) - 1) / support.sum(dim=-1, keepdim=True)
    return torch.relu(shifted - threshold) * keep


def attend_used(
    attention: HierarchicalAttention, query: Tensor, pages: Pages, visible: Tensor, decay: Tensor | None
) -> AttentionOutput:
    """The attention's result, without weights of words. query [batch, query, d], visible bool [batch, query, J], decay
    from Decay."""
    sentence_key, keys, values = pages.tensors
    energy = attention.sentence_energy(query, torch.cat(sentence_key, dim=1), decay)
    weights = sparsemax_of_many(energy, visible[:, None])
    word_query = scaled(attention.heads(attention.word_query(query)))
    parts = zip(keys, values, pages.word_keep, by_page(weights, pages.word_keep), strict=True)
    mixtures = [mix_used_words(attention, word_query, *part) for part in parts]
    return AttentionOutput(attention.output(merge_heads(torch.stack(mixtures).sum(dim=0))), weights, None)


def mix_used_words(
    attention: HierarchicalAttention, query: Tensor, key: Tensor, value: Tensor, word_keep: Tensor, weights: Tensor
) -> Tensor:
    """The contribution of the sentences of one page. query [batch, heads, query, head_dim], divided by sqrt(head_dim);
    weights [batch, heads, query, J of the page]. Returns [batch, heads, query, head_dim]."""
    batch, heads, queries, head_dim = query.shape
    _, sentences, width = word_keep.shape
    row, head, place, sentence = weights.nonzero().unbind(dim=1)  # [uses] each
    stored = row * sentences + sentence
    query_index = (row * heads + head) * queries + place
    words = (stored[:, None] * width + torch.arange(width, device=key.device)) * heads + head[:, None]  # [uses, W]
    of_keys, of_values = (x.reshape(batch * sentences * width * heads, head_dim)[words] for x in (key, value))
    used_queries = query.reshape(batch * heads * queries, head_dim)[query_index]
    energy = torch.matmul(of_keys, used_queries[..., None])[..., 0]
    keep = word_keep.reshape(batch * sentences, width)[stored]
    used_weights = weights.flatten()[query_index * sentences + sentence][:, None] * attention.normalize_words(
        energy, keep
    )
    mixed = torch.matmul(used_weights[:, None], of_values)[:, 0]  # [uses, head_dim]
    # The exporter turns index_add into a write, which loses all but one of the values added to one element.
    zeros = torch.zeros(batch * heads * queries, head_dim, device=key.device)
    return zeros.scatter_add(0, query_index[:, None].expand_as(mixed), mixed).view(batch, heads, queries, head_dim)

"""The context layer: attention to other sentences of the document, a feed-forward layer, and a gate that mixes their
result into the sentence's own state (Maruf et al. 2019, section 3.1-3.2)."""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from model.attention.decay import Decay
from model.attention.selective import AttentionOutput, VisibleSentences, context_attention, projection
from model.config import ContextConfig
from model.layers import Dropout, FeedForward

START_BIAS = 0.1
"""The bias of the last norm after `initialize_gate`: small beside the norm's outputs."""


class Store(NamedTuple):
    """The stored sentences of a document: projected tensors, and which words are not padding."""

    tensors: tuple[Tensor, ...]
    """The stored states in the order of the attention's `store_names`: [batch, J, d] or [batch, J, W, d]."""
    word_keep: Tensor
    """bool [batch, J, W]"""


class ContextResult(NamedTuple):
    state: Tensor
    """[batch, query, d]: replaces the sentence's own state."""
    sentence_weights: Tensor
    """[batch, heads, query, J]"""
    word_weights: Tensor | None
    """[batch, heads, query, J, W], or None (see AttentionOutput)."""
    gate: Tensor
    """[batch, query, d]: 1 is all of the sentence's own state, 0 all context."""


class ContextLayer(nn.Module):
    """As in the paper, attention and feed-forward layer have no residual connections: the gate has their function.

    Differs from the paper: a query that sees no sentence keeps its own state exactly.
    """

    def __init__(self, d_model: int, config: ContextConfig) -> None:
        super().__init__()
        self.attention = context_attention(d_model, config)
        self.decay = Decay(config.num_heads, config.decay)
        self.attention_norm = nn.LayerNorm(d_model)
        self.ffn = FeedForward(d_model, 4 * d_model if config.ffn_dim is None else config.ffn_dim)
        self.ffn_norm = nn.LayerNorm(d_model)
        self.gate_state, self.gate_context = projection(d_model), projection(d_model)
        self.gate_offset = config.gate_offset
        self.dropout = Dropout(config.dropout)
        for linear in (self.ffn.expand, self.ffn.contract):
            nn.init.xavier_uniform_(linear.weight)

    @torch.no_grad()
    def initialize_gate(self, gate: float) -> None:
        """Set weights so that the gate begins at `gate` (below 1), whatever the query and the context. 0.95 is nearly
        the sentence model. Random weights begin at about 0.5, which destroys half of a state that later layers were
        trained to read.

        The gate has no bias. The bias of the norm before it, equal in all dimensions, takes its place: apart from it a
        norm's outputs sum to zero, so at first the context does not move the gate.
        """
        width = self.ffn_norm.normalized_shape[0]
        self.gate_state.weight.zero_()
        self.ffn_norm.bias.fill_(START_BIAS)
        self.gate_context.weight.fill_(math.log(gate / (1 - gate)) / (width * START_BIAS))

    def project_store(self, key: Tensor, value: Tensor, word_keep: Tensor) -> Store:
        """Word representations [batch, J, W, d] and word_keep bool [batch, J, W] -> their store."""
        return Store(self.attention.project_store(key, value, word_keep), word_keep)

    def forward(self, query: Tensor, state: Tensor, store: Store, distance: Tensor) -> ContextResult:
        """query and state [batch, query, d], distance [batch, 1 or query, J], see masks.context_distance: Eq. 7-8,
        gate = sigmoid(state W + context W'), state' = gate * state + (1 - gate) * context."""
        visible = (distance > 0) & store.word_keep.any(dim=-1)[:, None]
        result = self.attention(query, store.tensors, VisibleSentences(visible, store.word_keep, self.decay(distance)))
        return self.mix(result, state, visible)

    def mix(self, attended: AttentionOutput, state: Tensor, visible: Tensor) -> ContextResult:
        """Mix the attention output into state [batch, query, d]; visible bool [batch, 1 or query, J]. A query that sees
        no sentence keeps its state."""
        context = self.attention_norm(self.dropout(attended.output))
        context = self.ffn_norm(self.dropout(self.ffn(context)))
        gate = torch.sigmoid(self.gate_state(state) + self.gate_context(context) + self.gate_offset)
        has_context = visible.any(dim=-1)[..., None]
        gate = torch.where(has_context, gate, torch.ones_like(gate))
        mixed = torch.where(has_context, gate * state + (1 - gate) * context, state)
        return ContextResult(mixed, attended.sentence_weights, attended.word_weights, gate)

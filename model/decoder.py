"""Transformer decoder with N-gram masked self-attention (Chelba et al. 2019). Teacher forcing, decoding step by step
and the graphs that the server runs all run this code; they differ in where the cached keys and values of a layer come
from.

Differs from the papers: recipes normalize before each sublayer, train matrices by Muon and run in bf16, where these use
normalization behind the residual sum, Adam and fp32; no dropout stands on attention weights."""

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor, nn

from model.attention.recurrent import RecurrentCell
from model.attention.select import build_attention, build_self_attention
from model.attention.visible_keys import VisibleKeys
from model.config import ModelConfig
from model.layers import FeedForward, ResidualLayer, last_norm, norm_of

LayerMemory = tuple[Tensor, ...]
"""The projected tensors of one attention, in the order of its `memory_names`, each [batch, heads, key, head_dim]; of a
recurrent cell c, [batch, target, d]."""

CacheUpdate = Callable[[int, LayerMemory], LayerMemory]
"""(layer, counted from 0; its self-attention's projection of this pass) -> the memory that it attends to: the ring with
the projection written into it. For a recurrent cell: its gates of this pass -> c after it."""


class DecoderOutput(NamedTuple):
    """The result of a pass through all layers."""

    state: Tensor
    """[batch, target, d]"""
    query: Tensor
    """[batch, target, d]: the input of the last feed-forward layer, that is the state after cross-attention."""
    memory: list[LayerMemory]
    """The keys and values that the self-attention of every layer attended to."""


class DecoderLayer(ResidualLayer):
    """`number` counts the decoder's layers from 1."""

    def __init__(self, config: ModelConfig, number: int) -> None:
        super().__init__(config)
        self.self_norm = norm_of(config)
        self.self_attention = build_self_attention(config, number)
        self.cross_norm = norm_of(config)
        self.cross_attention = build_attention(config, "cross", number)
        self.ffn_norm = norm_of(config)
        self.ffn = FeedForward(config.d_model, config.ffn_dim, config.activation)
        self.number = number

    @property
    def is_recurrent(self) -> bool:
        """Whether its past is one vector a row, not a ring."""
        return isinstance(self.self_attention, RecurrentCell)

    def forward(
        self, x: Tensor, target: VisibleKeys, cross: LayerMemory, source: VisibleKeys, update_cache: CacheUpdate | None
    ) -> tuple[Tensor, Tensor, LayerMemory]:
        """x [batch, target, d] -> state, query and memory as in DecoderOutput."""
        x, y, memory = self.self_attend(x, target, update_cache)
        x = self.add_residual(self.cross_norm, x, self.cross_attention(y, cross, source))
        query = self.sublayer_input(self.ffn_norm, x)
        return self.add_residual(self.ffn_norm, x, self.ffn(query)), query, memory

    def self_attend(
        self, x: Tensor, target: VisibleKeys, update_cache: CacheUpdate | None
    ) -> tuple[Tensor, Tensor, LayerMemory]:
        """x [batch, target, d] -> x after self-attention, the input of cross-attention, memory as in DecoderOutput."""
        y = self.sublayer_input(self.self_norm, x)
        memory = self.self_attention.project_memory(y)
        if update_cache is not None:
            memory = update_cache(self.number - 1, memory)
        elif isinstance(self.self_attention, RecurrentCell):
            memory = self.self_attention.scan(memory)
        x = self.add_residual(self.self_norm, x, self.self_attention(y, memory, target))
        return x, self.sublayer_input(self.cross_norm, x), memory


class Decoder(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(config, index + 1) for index in range(config.decoder_layers))
        self.norm = last_norm(config)

    def decoder_layers(self) -> list[DecoderLayer]:
        """The layers, typed."""
        return [layer for layer in self.layers if isinstance(layer, DecoderLayer)]

    def project_source(self, memory: Tensor) -> list[LayerMemory]:
        """Encoder output [batch, source, d] -> every layer's cross-attention keys and values, once per sentence."""
        return [layer.cross_attention.project_memory(memory) for layer in self.decoder_layers()]

    def forward(
        self,
        x: Tensor,
        target: VisibleKeys,
        cross: list[LayerMemory],
        source: VisibleKeys,
        update_cache: CacheUpdate | None = None,
    ) -> DecoderOutput:
        """x [batch, target, d]. Without `update_cache` a layer attends to the keys and values of this pass."""
        memories, query = [], x
        for layer, projected in zip(self.decoder_layers(), cross, strict=True):
            x, query, memory = layer(x, target, projected, source, update_cache)
            memories.append(memory)
        return DecoderOutput(self.norm(x), query, memories)

    def source_weights(
        self, x: Tensor, target: VisibleKeys, cross: list[LayerMemory], source: VisibleKeys, number: int
    ) -> Tensor:
        """The cross-attention of layer `number`, counted from 1: x [batch, target, d] -> weights [batch, heads, target,
        source]. `cross` are the memories of the layers up to there."""
        *below, layer = self.decoder_layers()[:number]
        for each, projected in zip(below, cross, strict=False):
            x, _, _ = each(x, target, projected, source, None)
        _, y, _ = layer.self_attend(x, target, None)
        return layer.cross_attention.weights(y, cross[number - 1], source)

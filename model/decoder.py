"""Pre-norm Transformer decoder with N-gram masked self-attention (Chelba et al. 2019), teacher-forced and stepwise."""

from torch import Tensor, nn

from model.attention.ring_cache import ring_positions, ring_write
from model.attention.select import build_attention
from model.config import ModelConfig
from model.layers import Dropout, FeedForward
from model.masks import ngram_keep

LayerMemory = tuple[Tensor, ...]
"""The projected tensors of one attention, in the order of its `memory_names`, each [batch, heads, key, head_dim]."""


class DecoderLayer(nn.Module):
    """`number` counts the decoder's layers from 1."""

    def __init__(self, config: ModelConfig, number: int) -> None:
        super().__init__()
        self.self_norm = nn.LayerNorm(config.d_model)
        self.self_attention = build_attention(config, "decoder", number)
        self.cross_norm = nn.LayerNorm(config.d_model)
        self.cross_attention = build_attention(config, "cross", number)
        self.ffn_norm = nn.LayerNorm(config.d_model)
        self.ffn = FeedForward(config.d_model, config.ffn_dim)
        self.dropout = Dropout(config.dropout)

    def forward(
        self,
        x: Tensor,
        keep: Tensor,
        position: Tensor,
        cross: LayerMemory,
        source_keep: Tensor,
        source_position: Tensor,
    ) -> Tensor:
        """Teacher-forced: x [batch, target, d], keep [batch or 1, 1, target, target] -> [batch, target, d]."""
        y = self.self_norm(x)
        x = x + self.dropout(self.self_attention(y, self.self_attention.project_memory(y), keep, position, position))
        return self.after_self_attention(x, position, cross, source_keep, source_position)

    def step(
        self,
        x: Tensor,
        position: Tensor,
        ring: LayerMemory,
        cross: LayerMemory,
        source_keep: Tensor,
        source_position: Tensor,
    ) -> tuple[Tensor, LayerMemory]:
        """One token per row: x [row, 1, d], position [row]. Writes its own slot, then attends to the ring."""
        y = self.self_norm(x)
        new = self.self_attention.project_memory(y)
        ring = tuple(ring_write(buffer, token, position) for buffer, token in zip(ring, new, strict=True))
        key_position = ring_positions(position, ring[0].shape[2])
        # Every filled slot lies within the window by construction, so order None is the N-gram mask here.
        keep = ngram_keep(position[:, None], key_position, None)
        x = x + self.self_attention(y, ring, keep, position[:, None], key_position, ordered=False)
        return self.after_self_attention(x, position[:, None], cross, source_keep, source_position), ring

    def after_self_attention(
        self, x: Tensor, position: Tensor, cross: LayerMemory, source_keep: Tensor, source_position: Tensor
    ) -> Tensor:
        attended = self.cross_attention(self.cross_norm(x), cross, source_keep, position, source_position)
        x = x + self.dropout(attended)
        return x + self.dropout(self.ffn(self.ffn_norm(x)))  # type: ignore[no-any-return]


class Decoder(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.ngram = config.ngram
        self.layers = nn.ModuleList(DecoderLayer(config, index + 1) for index in range(config.decoder_layers))
        self.norm = nn.LayerNorm(config.d_model)

    def decoder_layers(self) -> list[DecoderLayer]:
        """The layers, typed."""
        return [layer for layer in self.layers if isinstance(layer, DecoderLayer)]

    def project_source(self, memory: Tensor) -> list[LayerMemory]:
        """Source memory [batch, source, d] -> every layer's cross-attention keys and values, once per sentence."""
        return [layer.cross_attention.project_memory(memory) for layer in self.decoder_layers()]

    def forward(
        self, x: Tensor, position: Tensor, cross: list[LayerMemory], source_keep: Tensor, source_position: Tensor
    ) -> Tensor:
        """x [batch, target, d], position [1 or batch, target] -> hidden [batch, target, d]."""
        keep = ngram_keep(position, position, self.ngram)
        for layer, memory in zip(self.layers, cross, strict=True):
            x = layer(x, keep, position, memory, source_keep, source_position)
        return self.norm(x)  # type: ignore[no-any-return]

    def step(
        self,
        x: Tensor,
        position: Tensor,
        rings: list[LayerMemory],
        cross: list[LayerMemory],
        source_keep: Tensor,
        source_position: Tensor,
    ) -> tuple[Tensor, list[LayerMemory]]:
        """x [row, 1, d], position [row] -> hidden [row, 1, d] and the rings with this token written."""
        written = []
        for layer, ring, memory in zip(self.decoder_layers(), rings, cross, strict=True):
            x, ring = layer.step(x, position, ring, memory, source_keep, source_position)
            written.append(ring)
        return self.norm(x), written

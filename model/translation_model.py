"""The whole model: encode a source, then decode it teacher-forced or one token at a time."""

import torch
from torch import Tensor, nn

from model.config import ConfigError, ModelConfig
from model.decoder import Decoder, LayerMemory
from model.encoder import Encoder
from model.layers import TokenEmbedding
from model.masks import padding_keep, positions_of


class TranslationModel(nn.Module):
    """Encoder-decoder Transformer with one shared embedding, tied to the output projection."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        if not config.encoder_layers:
            raise ConfigError("encoder_layers 0 is a language model, which translates nothing: set it to 1 or more")
        self.config = config
        self.embedding = TokenEmbedding(config.vocab_size, config.d_model, config.max_length, config.dropout)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        for parameter in [*self.encoder.parameters(), *self.decoder.parameters()]:
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)

    def encode(self, source: Tensor, source_keep: Tensor) -> Tensor:
        """source ids [batch, source] (EOS at the end), source_keep bool, same shape -> memory [batch, source, d]."""
        position = positions_of(source)
        return self.encoder(self.embedding(source, position), padding_keep(source_keep), position)  # type: ignore[no-any-return]

    def decode(self, target: Tensor, memory: Tensor, source_keep: Tensor) -> Tensor:
        """Teacher-forced: target ids [batch, target] beginning with BOS -> hidden [batch, target, d]."""
        position = positions_of(target)
        return self.decoder(  # type: ignore[no-any-return]
            self.embedding(target, position),
            position,
            self.decoder.project_source(memory),
            padding_keep(source_keep),
            positions_of(source_keep),
        )

    def hidden(self, source: Tensor, source_keep: Tensor, target: Tensor) -> Tensor:
        """Teacher-forced, encoder and decoder in one: hidden [batch, target, d]."""
        return self.decode(target, self.encode(source, source_keep), source_keep)

    def forward(self, source: Tensor, source_keep: Tensor, target: Tensor) -> Tensor:
        """Logits [batch, target, vocabulary] of the token that follows each target position."""
        return self.embedding.logits(self.hidden(source, source_keep, target))

    def empty_rings(self, rows: int) -> list[LayerMemory]:
        """Rings before the first token: per layer one zero buffer [row, heads, capacity, head_dim] per cached name."""
        config, reference = self.config, self.embedding.weight
        shape = (rows, config.num_heads, config.ring_capacity, config.head_dim)
        return [
            tuple(
                torch.zeros(shape, dtype=reference.dtype, device=reference.device)
                for _ in layer.self_attention.memory_names
            )
            for layer in self.decoder.decoder_layers()
        ]

    def step(
        self, token: Tensor, position: Tensor, rings: list[LayerMemory], cross: list[LayerMemory], source_keep: Tensor
    ) -> tuple[Tensor, list[LayerMemory]]:
        """token [row], position [row] (rows may stand anywhere), source_keep [row, source].

        Returns logits [row, vocabulary] of the next token and the rings with this token written.
        """
        x = self.embedding(token[:, None], position[:, None])
        hidden, rings = self.decoder.step(
            x, position, rings, cross, padding_keep(source_keep), positions_of(source_keep)
        )
        return self.embedding.logits(hidden[:, 0]), rings

"""A decoder-only language model: the decoder of TranslationModel without a source (Nguyen et al. 2020, Table 6)."""

import torch
from torch import Tensor, nn

from model.attention.visible_keys import VisibleKeys
from model.config import ConfigError, ModelConfig
from model.encoder import EncoderLayer
from model.layers import TargetEmbedding, last_norm
from model.masks import ngram_keep, positions_of


class LanguageModel(nn.Module):
    """Transformer over target tokens alone, `decoder_layers` deep, tied to its embedding.

    Its layers are those of an encoder under a causal or N-gram mask, with the attention of `decoder_attention`.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        if config.encoder_layers:
            raise ConfigError(f"a language model has no encoder: encoder_layers must be 0, not {config.encoder_layers}")
        self.config = config
        self.embedding = TargetEmbedding(config)
        self.layers = nn.ModuleList(
            EncoderLayer(config, index + 1, site="decoder") for index in range(config.decoder_layers)
        )
        self.norm = last_norm(config)
        for parameter in self.layers.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)

    def hidden(self, source: Tensor, source_keep: Tensor, target: Tensor) -> Tensor:
        """target ids [batch, target] beginning with BOS -> hidden [batch, target, d]. The source is not read: this is
        TranslationModel's shape, so that both are trained by the same code."""
        position = positions_of(target)
        visible = VisibleKeys(ngram_keep(position, position, self.config.ngram), position, position)
        x = self.embedding(target, position)
        for layer in self.layers:
            x = layer(x, visible)
        return self.norm(x)  # type: ignore[no-any-return]

    def forward(self, target: Tensor) -> Tensor:
        """Logits [batch, target, vocabulary] of the token that follows each target position."""
        return self.embedding.logits(self.hidden(target, torch.ones_like(target, dtype=torch.bool), target))

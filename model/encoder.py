"""Transformer encoder."""

from torch import Tensor, nn

from model.attention.select import build_attention
from model.attention.visible_keys import VisibleKeys
from model.config import ModelConfig, Site
from model.layers import FeedForward, ResidualLayer, last_norm, norm_of


class EncoderLayer(ResidualLayer):
    """Self-attention and feed-forward; `number` counts the layers from 1, `site` says whose attention it is."""

    def __init__(self, config: ModelConfig, number: int, site: Site = "encoder") -> None:
        super().__init__(config)
        self.self_norm = norm_of(config)
        self.self_attention = build_attention(config, site, number)
        self.ffn_norm = norm_of(config)
        self.ffn = FeedForward(config.d_model, config.ffn_dim, config.activation)

    def forward(self, x: Tensor, visible: VisibleKeys) -> Tensor:
        """x [batch, length, d] -> [batch, length, d]."""
        y = self.sublayer_input(self.self_norm, x)
        memory = self.self_attention.project_memory(y)
        x = self.add_residual(self.self_norm, x, self.self_attention(y, memory, visible))
        return self.add_residual(self.ffn_norm, x, self.ffn(self.sublayer_input(self.ffn_norm, x)))


class Encoder(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(config, index + 1) for index in range(config.encoder_layers))
        self.norm = last_norm(config)

    def forward(self, x: Tensor, keep: Tensor, position: Tensor) -> Tensor:
        """x [batch, source, d], keep [batch, 1, 1, source] -> source memory [batch, source, d]."""
        visible = VisibleKeys(keep, position, position)
        for layer in self.layers:
            x = layer(x, visible)
        return self.norm(x)  # type: ignore[no-any-return]

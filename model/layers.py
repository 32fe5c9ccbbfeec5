"""Sub-layers shared by encoder and decoder: embedding, feed-forward, residual dropout (pre-norm Transformer)."""

import math

import torch
from torch import Tensor, nn

from model.config import PAD_ID


def sinusoidal_positions(length: int, d_model: int) -> Tensor:
    """[length, d_model]: sines in the first half, cosines in the second (Vaswani et al. 2017, section 3.5)."""
    rate = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    angle = torch.arange(length)[:, None] * rate
    return torch.cat([angle.sin(), angle.cos()], dim=1)


class Dropout(nn.Module):
    """Dropout whose random bits come eight to a draw: on CPUs several times cheaper than torch's, at a
    probability rounded to 1/256."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.dropped = round(probability * 256)

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.dropped == 0:
            return x
        words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64, device=x.device).random_(-(2**63), None)
        keep = words.view(torch.uint8)[: x.numel()].view(x.shape) >= self.dropped
        return x * (keep.to(x.dtype) * (256 / (256 - self.dropped)))


class TokenEmbedding(nn.Module):
    """Embedding times sqrt(d) plus sinusoidal position; its weight is also the output projection."""

    positions: Tensor
    adam_matrices = ("weight",)

    def __init__(self, vocab_size: int, d_model: int, max_length: int, dropout: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(vocab_size, d_model) * d_model**-0.5)
        with torch.no_grad():
            self.weight[PAD_ID].zero_()
        self.register_buffer("positions", sinusoidal_positions(max_length, d_model), persistent=False)
        self.scale = math.sqrt(d_model)
        self.dropout = Dropout(dropout)

    def forward(self, ids: Tensor, position: Tensor) -> Tensor:
        """ids [batch, length], position [batch or 1, length] -> [batch, length, d]."""
        embedded = nn.functional.embedding(ids, self.weight) * self.scale
        return self.dropout(embedded + self.positions[position].to(embedded.dtype))  # type: ignore[no-any-return]

    def logits(self, hidden: Tensor) -> Tensor:
        """[..., d] -> [..., vocabulary]"""
        return nn.functional.linear(hidden, self.weight)


class FeedForward(nn.Module):
    """Two linear maps with a ReLU between them."""

    def __init__(self, d_model: int, ffn_dim: int) -> None:
        super().__init__()
        self.expand = nn.Linear(d_model, ffn_dim)
        self.contract = nn.Linear(ffn_dim, d_model)

    def forward(self, x: Tensor) -> Tensor:
        return self.contract(torch.relu(self.expand(x)))  # type: ignore[no-any-return]

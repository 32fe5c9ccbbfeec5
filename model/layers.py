"""Sub-layers shared by encoder and decoder: embedding, feed-forward, residual connections."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from model.config import ConfigError, ModelConfig
from model.symbolic import cast_like, constant, shaped, sizes_of, with_symbolic


def sinusoidal_positions(length: int, d_model: int, order: str = "halved") -> Tensor:
    """[length, d_model] (Vaswani et al. 2017, section 3.5): sines in the first half and cosines in the second, or
    "interleaved". In "tensor2tensor", halved, the slowest rate is 1/10000: the authors' code divides by d/2 - 1."""
    steps = d_model / 2 - 1 if order == "tensor2tensor" else d_model / 2
    rate = torch.exp(torch.arange(d_model // 2) * (-math.log(10000.0) / max(steps, 1)))
    angle = torch.arange(length)[:, None] * rate
    if order == "interleaved":
        return torch.stack([angle.sin(), angle.cos()], dim=2).flatten(1)
    return torch.cat([angle.sin(), angle.cos()], dim=1)


class Dropout(nn.Module):
    """Dropout that takes eight decisions from one random number: several times faster than torch's on CPUs. The
    probability is rounded to 1/256."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.dropped = round(probability * 256)

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.dropped == 0:
            return x
        words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64, device=x.device).random_(-(2**63), None)
        keep = words.view(torch.uint8)[: x.numel()].view(x.shape) >= self.dropped
        return x * (keep.to(x.dtype) * (256 / (256 - self.dropped)))


def symbolic_leading(graph: Any, table: Any, ids: Any) -> Any:
    length = graph.op("Shape", ids, start_i=1, end_i=2)
    rows = graph.op("Slice", table, constant(graph, [0]), length)
    return shaped(rows, table, [None, sizes_of(table)[1]])


@with_symbolic(symbolic_leading)
def leading_rows(table: Tensor, ids: Tensor) -> Tensor:
    """The first rows of a table [row, d], one for every position of ids [batch, length]: [length, d]."""
    return table[: ids.shape[1]]


class TokenEmbedding(nn.Module):
    """Embedding with positions: sinusoids, or a table of weights."""

    positions: Tensor | None
    adam_matrices: tuple[str, ...] = ("weight", "positions")

    def __init__(self, config: ModelConfig, vocab_size: int) -> None:
        super().__init__()
        d_model = config.d_model
        self.weight = nn.Parameter(torch.randn(vocab_size, d_model) * d_model**-0.5)
        if config.pad_id < vocab_size:
            with torch.no_grad():
                self.weight[config.pad_id].zero_()
        if config.positions == "learned":
            self.positions = nn.Parameter(torch.zeros(config.max_length, d_model))
        else:
            has_none = config.positions == "none"
            table = None if has_none else sinusoidal_positions(config.max_length, d_model, config.positions)
            self.register_buffer("positions", table, persistent=False)
        self.scale = math.sqrt(d_model) if config.scaled_embedding else 1.0
        self.dropout = Dropout(config.dropout)

    def forward(self, ids: Tensor, position: Tensor | None = None) -> Tensor:
        """ids [batch, length], position [batch or 1, length] or None for 0, 1, 2, ... -> [batch, length, d]."""
        embedded = nn.functional.embedding(ids, self.weight)
        if self.scale != 1:
            embedded = embedded * self.scale
        if self.positions is not None:
            place = leading_rows(self.positions, ids) if position is None else self.positions[position]
            embedded = embedded + cast_like(place, embedded)
        return self.dropout(embedded)  # type: ignore[no-any-return]


class TargetEmbedding(TokenEmbedding):
    """The embedding of target words, and the projection of states to them."""

    adam_matrices = ("weight", "positions", "output_weight")

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config, config.vocab_size)
        size, width = config.vocab_size, config.d_model
        self.output_weight = None if config.tied_output else nn.Parameter(torch.randn(size, width) * width**-0.5)
        self.output_bias = nn.Parameter(torch.zeros(size)) if config.output_bias else None

    @property
    def projection(self) -> Tensor:
        """[vocabulary, d]: the embedding's own weight where it is tied."""
        return self.weight if self.output_weight is None else self.output_weight

    def unbiased_projection(self) -> Tensor:
        """`projection`, for a loss that has no bias. Raises ConfigError where the model has one."""
        if self.output_bias is not None:
            raise ConfigError("output_bias is for imported models: set it to false to train")
        return self.projection

    def projected_states(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """hidden [token, d] -> states and a matrix whose product is `logits`: where there is a bias, it is one more
        column of the matrix, for which the states have a one."""
        if self.output_bias is None:
            return hidden, self.projection
        ones = hidden.new_ones(len(hidden), 1)
        return torch.cat([hidden, ones], dim=1), torch.cat([self.projection, self.output_bias[:, None]], dim=1)

    def logits(self, hidden: Tensor) -> Tensor:
        """[..., d] -> [..., vocabulary]"""
        return nn.functional.linear(hidden, self.projection, self.output_bias)


class ResidualLayer(nn.Module):
    """Base of encoder and decoder layers: norms and residual connections around sub-layers."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm_before = config.norm == "before"
        self.dropout = Dropout(config.dropout)

    def sublayer_input(self, norm: nn.Module, x: Tensor) -> Tensor:
        """The input of the sub-layer that `norm` belongs to."""
        return norm(x) if self.norm_before else x

    def add_residual(self, norm: nn.Module, x: Tensor, output: Tensor) -> Tensor:
        """x plus the output `output` of that sub-layer."""
        x = x + self.dropout(output)
        return x if self.norm_before else norm(x)


def norm_of(config: ModelConfig) -> nn.LayerNorm:
    return nn.LayerNorm(config.d_model, eps=config.norm_epsilon)


def last_norm(config: ModelConfig) -> nn.Module:
    """The norm after the last layer; none where every residual sum has its norm already."""
    return norm_of(config) if config.norm == "before" else nn.Identity()


ACTIVATIONS = {"relu": torch.relu, "swish": nn.functional.silu, "gelu": nn.functional.gelu}


class FeedForward(nn.Module):
    """Two linear maps with an activation between them."""

    def __init__(self, d_model: int, ffn_dim: int, activation: str = "relu") -> None:
        super().__init__()
        self.expand = nn.Linear(d_model, ffn_dim)
        self.contract = nn.Linear(ffn_dim, d_model)
        self.activation = ACTIVATIONS[activation]

    def forward(self, x: Tensor) -> Tensor:
        return self.contract(self.activation(self.expand(x)))  # type: ignore[no-any-return]

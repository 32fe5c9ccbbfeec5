"""What a model is: one frozen dataclass, saved beside its weights."""

import dataclasses
import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

PAD_ID, UNK_ID, BOS_ID, EOS_ID = 0, 1, 2, 3


class ConfigError(ValueError):
    """A configuration that cannot be used; the message says which key and what to write instead."""


def reject_unknown_keys(given: Iterable[str], known: Iterable[str], where: str) -> None:
    """Raise ConfigError for the first name in `given` that is not in `known`, naming the nearest known one."""
    names = sorted(known)
    for key in given:
        if key not in names:
            near = difflib.get_close_matches(key, names, n=1, cutoff=0.5)
            hint = f"did you mean '{near[0]}'?" if near else f"known keys: {', '.join(names)}"
            raise ConfigError(f"unknown key '{key}' in {where}: {hint}")


@dataclass(frozen=True)
class ModelConfig:
    """Shape of an encoder-decoder Transformer.

    `ngram` is the order N of Chelba et al. 2019: the decoder sees the last N-1 target tokens, its own input
    included; None is full causal attention. `max_length` bounds source and target positions.
    """

    vocab_size: int
    d_model: int = 256
    num_heads: int = 8
    ffn_dim: int = 1024
    encoder_layers: int = 6
    decoder_layers: int = 2
    ngram: int | None = 8
    max_length: int = 256
    dropout: float = 0.1

    def __post_init__(self) -> None:
        if self.ngram is not None and self.ngram < 2:
            raise ConfigError(f"ngram must be at least 2 or null for full attention, not {self.ngram}")
        if self.d_model % self.num_heads:
            raise ConfigError(f"d_model {self.d_model} is not a multiple of num_heads {self.num_heads}")
        if self.d_model % 2:
            raise ConfigError(f"d_model must be even for sinusoidal positions, not {self.d_model}")
        for name in ("vocab_size", "num_heads", "ffn_dim", "encoder_layers", "decoder_layers", "max_length"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, not {getattr(self, name)}")
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"dropout must lie in [0, 1), not {self.dropout}")

    @property
    def head_dim(self) -> int:
        return self.d_model // self.num_heads

    @property
    def ring_capacity(self) -> int:
        """Slots of the decoder's ring: N-1, or max_length for full attention (the same code, a longer ring)."""
        return self.max_length if self.ngram is None else self.ngram - 1

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "ModelConfig":
        reject_unknown_keys(values, (field.name for field in dataclasses.fields(cls)), "the model configuration")
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

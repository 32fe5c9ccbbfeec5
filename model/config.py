"""The configuration of a model: frozen dataclasses, saved beside its weights."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from model.attention_config import KINDS, PLAIN, SITES, AttentionConfig, Kind, Site
from model.config_checks import ConfigError, check_choice, is_count, reject_unknown_keys

__all__ = [
    "BOS_ID", "CONTEXT_ATTENTIONS", "CONTEXT_SIDES", "EOS_ID", "KINDS", "PAD_ID", "SITES", "SPECIAL_IDS", "UNK_ID",
    "AttentionConfig", "ConfigError", "ContextConfig", "Kind", "ModelConfig", "Site", "SpecialIds",
    "reject_unknown_keys",
]  # fmt: skip
"""Names that the rest of the model imports from here."""

PAD_ID, UNK_ID, BOS_ID, EOS_ID = 0, 1, 2, 3
"""The ids in our own vocabularies."""


class SpecialIds(NamedTuple):
    """Ids that are not words. Some models start to decode from the padding id: then `bos` equals `pad`."""

    pad: int = PAD_ID
    unk: int = UNK_ID
    bos: int = BOS_ID
    eos: int = EOS_ID

    @property
    def suppressed(self) -> tuple[int, ...]:
        """Ids that no translation contains: those of padding, UNK and BOS, but never EOS."""
        return tuple(sorted({self.pad, self.unk, self.bos} - {self.eos}))


SPECIAL_IDS = SpecialIds()


@dataclass(frozen=True)
class ModelConfig:
    """Shape of an encoder-decoder Transformer, or with `encoder_layers` 0 of a decoder-only language model.

    `ngram` is the order N of Chelba et al. 2019: the decoder sees the last N-1 target tokens, its own input
    included; None is full causal attention. `max_length` bounds source and target positions.

    The other fields are for imported models. norm: "before" every sub-layer, with one more at the end (Xiong
    et al. 2020), or "after" every residual sum (Vaswani et al. 2017). activation: "relu", "swish" or "gelu", in
    feed-forward layers. positions: sinusoids with the sines in the first half ("halved") or at even indices
    ("interleaved"), halved with Tensor2Tensor's rates ("tensor2tensor"), a table of weights ("learned"), or "none".
    scaled_embedding: embeddings are multiplied by sqrt(d_model). source_embedding: "shared" with the target's, or
    "separate", as it must be for a source vocabulary of its own (source_vocab_size). tied_output: the target's
    embedding is the output projection; output_bias adds one number for each word to its result. pad_id, unk_id, bos_id,
    eos_id: see SpecialIds. source_eos: sources end with EOS. norm_epsilon is added to the variance in norms.
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
    encoder_attention: AttentionConfig = PLAIN
    decoder_attention: AttentionConfig = PLAIN
    cross_attention: AttentionConfig = PLAIN
    norm: str = "before"
    activation: str = "relu"
    positions: str = "halved"
    norm_epsilon: float = 1e-5
    scaled_embedding: bool = True
    source_embedding: str = "shared"
    source_vocab_size: int | None = None
    tied_output: bool = True
    output_bias: bool = False
    pad_id: int = PAD_ID
    unk_id: int = UNK_ID
    bos_id: int = BOS_ID
    eos_id: int = EOS_ID
    source_eos: bool = True

    def __post_init__(self) -> None:
        if self.ngram is not None and self.ngram < 2:
            raise ConfigError(f"ngram must be at least 2 or null for full attention, not {self.ngram}")
        if self.d_model % self.num_heads:
            raise ConfigError(f"d_model {self.d_model} is not a multiple of num_heads {self.num_heads}")
        if self.d_model % 2:
            raise ConfigError(f"d_model must be even for sinusoidal positions, not {self.d_model}")
        for name in ("vocab_size", "num_heads", "ffn_dim", "decoder_layers", "max_length"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.encoder_layers < 0:
            raise ConfigError(
                f"encoder_layers must be at least 1, or 0 for a language model, not {self.encoder_layers}"
            )
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"dropout must lie in [0, 1), not {self.dropout}")
        self._check_attentions()
        self._check_convention()

    def _check_convention(self) -> None:
        check_choice("norm", self.norm, ("before", "after"))
        check_choice("activation", self.activation, ("relu", "swish", "gelu"))
        check_choice("positions", self.positions, ("halved", "interleaved", "tensor2tensor", "learned", "none"))
        check_choice("source_embedding", self.source_embedding, ("shared", "separate"))
        if not isinstance(self.norm_epsilon, float) or not 0 < self.norm_epsilon < 1:
            raise ConfigError(f"norm_epsilon must be a small number above 0, not {self.norm_epsilon!r}")
        for name in ("scaled_embedding", "tied_output", "output_bias", "source_eos"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"{name} must be true or false, not {getattr(self, name)!r}")
        if self.source_vocab_size is not None:
            if not is_count(self.source_vocab_size):
                raise ConfigError(f"source_vocab_size must be at least 1 or null, not {self.source_vocab_size!r}")
            if self.source_embedding == "shared":
                raise ConfigError(
                    "source_vocab_size: a source vocabulary of its own needs source_embedding 'separate'; "
                    "leave source_vocab_size out for one vocabulary"
                )
        for name in ("pad_id", "unk_id", "bos_id", "eos_id"):
            if not isinstance(getattr(self, name), int) or not 0 <= getattr(self, name) < self.vocab_size:
                raise ConfigError(
                    f"{name} must be an id of the vocabulary, 0 to {self.vocab_size - 1}, not {getattr(self, name)!r}"
                )

    def _check_attentions(self) -> None:
        if self.decoder_attention.segment is not None:
            raise ConfigError(
                "decoder_attention: segment is not possible, segments of unfinished text would shift while it grows; "
                "leave segment out here, or use it in encoder_attention or cross_attention"
            )
        if self.cross_attention.relative:
            raise ConfigError(
                "cross_attention: relative is not possible, source and target positions have no common scale; "
                "use it in encoder_attention or decoder_attention"
            )
        if not self.encoder_layers and self.encoder_attention != PLAIN:
            raise ConfigError("encoder_attention: a language model (encoder_layers 0) has no encoder; leave it out")
        if not self.encoder_layers and self.cross_attention != PLAIN:
            raise ConfigError("cross_attention: a language model (encoder_layers 0) has no source; leave it out")
        if not self.encoder_layers and KINDS[self.decoder_attention.kind].is_recurrent:
            raise ConfigError(
                f"decoder_attention: kind '{self.decoder_attention.kind}' is for translation; a language model "
                "(encoder_layers 0) has attention; choose another kind"
            )
        for site in SITES:
            attention, layers = self.attention(site)
            if site not in (sites := KINDS[attention.kind].sites):
                raise ConfigError(
                    f"{site}_attention: kind '{attention.kind}' is possible in the {' and '.join(sites)} only"
                )
            if max(attention.layer_numbers(layers), default=0) > layers:
                beyond = f"layers {list(attention.layers)} go beyond the {layers} layers there are"
                raise ConfigError(f"{site}_attention: {beyond}; count from 1")
        if not self.has_ring and self.ngram is not None:
            raise ConfigError(
                f"ngram {self.ngram} has no meaning where no layer of the decoder attends to the target; set it to null"
            )

    def attention(self, site: Site) -> tuple[AttentionConfig, int]:
        """The attention of a site and the number of layers there; cross-attention is in the decoder's layers."""
        match site:
            case "encoder":
                return self.encoder_attention, self.encoder_layers
            case "decoder":
                return self.decoder_attention, self.decoder_layers
            case "cross":
                return self.cross_attention, self.decoder_layers

    @property
    def is_plain(self) -> bool:
        """No attention differs from plain attention; the N-gram window of the decoder may."""
        return all(self.attention(site)[0] == PLAIN for site in SITES)

    @property
    def variant(self) -> str:
        """For people: "plain N=8", "Enc(AW)-Cr(AW,Seg)-Dec(MW) full", "LM Dec(MW) full"."""
        sites = {"Enc": self.encoder_attention, "Cr": self.cross_attention, "Dec": self.decoder_attention}
        named = [f"{site}({attention.label})" for site, attention in sites.items() if attention.label]
        prefix = "" if self.encoder_layers else "LM "
        order = " full" if self.ngram is None else f" N={self.ngram}"
        return f"{prefix}{'-'.join(named) or 'plain'}{order if self.has_ring else ''}"

    @property
    def ids(self) -> SpecialIds:
        return SpecialIds(self.pad_id, self.unk_id, self.bos_id, self.eos_id)

    def source_ids(self, words: Sequence[int]) -> list[int]:
        """What the encoder reads for the ids of a sentence without EOS: at least one id."""
        return [*words, self.eos_id] if self.source_eos or not words else [*words]

    def source_words(self, ids: Sequence[int]) -> list[int]:
        """The inverse of `source_ids`."""
        return [*ids[:-1]] if ids and ids[-1] == self.eos_id else [*ids]

    @property
    def head_dim(self) -> int:
        return self.d_model // self.num_heads

    @property
    def has_ring(self) -> bool:
        """Whether a layer of the decoder attends to the tokens before; others have one vector of the past."""
        attention, layers = self.attention("decoder")
        is_recurrent = KINDS[attention.kind].is_recurrent
        return not is_recurrent or len(attention.layer_numbers(layers)) < layers

    @property
    def ring_capacity(self) -> int:
        """Slots of the decoder's ring: N-1, or max_length for full attention (the same code, a longer ring); 1 without
        a ring."""
        if not self.has_ring:
            return 1
        return self.max_length if self.ngram is None else self.ngram - 1

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "ModelConfig":
        reject_unknown_keys(values, (field.name for field in dataclasses.fields(cls)), "the model configuration")
        names = [f"{site}_attention" for site in SITES]
        nested = {name: AttentionConfig.from_dict(values[name], name) for name in names if name in values}
        return cls(**{**values, **nested})

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


CONTEXT_ATTENTIONS = ("flat-sentence", "flat-word", "sparse-soft", "sparse-sparse")
CONTEXT_SIDES = ("encoder", "decoder")


@dataclass(frozen=True)
class ContextConfig:
    """The layer that attends to the other sentences of a document (Maruf et al. 2019).

    `attention`: one weight per sentence or per word (flat), or sentences by sparsemax and then words by softmax or
    sparsemax. `side`: whether the layer follows the encoder (context in the source language) or the decoder (context in
    both). Whether a sentence sees all others or only earlier ones is a mask, and not part of the configuration.
    """

    attention: str = "sparse-soft"
    side: str = "encoder"
    num_heads: int = 8
    ffn_dim: int | None = None
    """Width of the feed-forward layer; None is four times d_model, as in the paper."""
    dropout: float = 0.2
    gate_offset: float = 0.0
    """Added to the input of the gate's sigmoid; 0 as in the paper. Above 0, less context passes than in training: a
    layer that learned from the same text as its sentence model relies on context too much in other text."""
    reach: int | None = None
    """The largest distance, in sentences, that a sentence attends over; None: the whole document."""
    decay: float | str | None = None
    """The amount by which energies fall for every sentence between: none, a rate from 0 on, or "learned", one rate for
    every head (see model.attention.decay)."""

    def __post_init__(self) -> None:
        for name, choices in (("attention", CONTEXT_ATTENTIONS), ("side", CONTEXT_SIDES)):
            if getattr(self, name) not in choices:
                raise ConfigError(f"context {name} must be one of {', '.join(choices)}, not {getattr(self, name)!r}")
        if not is_count(self.num_heads):
            raise ConfigError(f"context num_heads must be a whole number from 1 on, not {self.num_heads!r}")
        if self.ffn_dim is not None and not is_count(self.ffn_dim):
            raise ConfigError(
                f"context ffn_dim must be a whole number from 1 on, or null for 4 x d_model, not {self.ffn_dim!r}"
            )
        if not isinstance(self.dropout, int | float) or not 0 <= self.dropout < 1:
            raise ConfigError(f"context dropout must be a number in [0, 1), not {self.dropout!r}")
        if self.reach is not None and not is_count(self.reach):
            raise ConfigError(
                f"context reach must be a whole number from 1 on, or null for the whole document, not {self.reach!r}"
            )
        is_rate = isinstance(self.decay, int | float) and not isinstance(self.decay, bool) and self.decay >= 0
        if self.decay not in (None, "learned") and not is_rate:
            raise ConfigError(
                f'context decay must be a number from 0 on, "learned", or null for none, not {self.decay!r}'
            )
        if not isinstance(self.gate_offset, int | float):
            raise ConfigError(f"context gate_offset must be a number, not {self.gate_offset!r}")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "ContextConfig":
        reject_unknown_keys(values, (field.name for field in dataclasses.fields(cls)), "the context configuration")
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

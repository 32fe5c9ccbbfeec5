"""The configuration of a model: frozen dataclasses, saved beside its weights."""

import dataclasses
import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

PAD_ID, UNK_ID, BOS_ID, EOS_ID = 0, 1, 2, 3
"""The ids in our own vocabularies."""


class SpecialIds(NamedTuple):
    """Ids that are not words. Some models start to decode from the padding id: then `bos` equals `pad`."""

    pad: int = PAD_ID
    unk: int = UNK_ID
    bos: int = BOS_ID
    eos: int = EOS_ID

    @property
    def unspeakable(self) -> tuple[int, ...]:
        """Ids that no translation contains: those of padding, UNK and BOS, but never EOS."""
        return tuple(sorted({self.pad, self.unk, self.bos} - {self.eos}))


SPECIAL_IDS = SpecialIds()

Site = Literal["encoder", "decoder", "cross"]
"""The place of an attention in the model; cross-attention is between decoder and encoder."""
SITES: tuple[Site, ...] = ("encoder", "decoder", "cross")


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


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigError(f"{name} must be {' or '.join(repr(choice) for choice in choices)}, not {value!r}")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


@dataclass(frozen=True)
class Kind:
    """What the configuration knows of a kind of attention; the rest is in model/attention/kinds/NAME.py."""

    label: Callable[["AttentionConfig"], list[str]] | None = None
    """The parts of its name for people, which are joined by commas; None is the kind's name."""
    conflict: Callable[["AttentionConfig"], str] = lambda attention: ""
    """Why its options cannot be combined, "" where they can."""


def localness_label(attention: "AttentionConfig") -> list[str]:
    return [f"Gauss {attention.gauss_window}", *(["thumt"] if attention.gauss_coords == "thumt" else [])]


def window_label(attention: "AttentionConfig") -> list[str]:
    mode = "AW" if attention.window_mode == "additive" else "MW"
    return [mode, *(["renorm"] if attention.window_renorm else []), *(["Seg"] if attention.segment else [])]


def window_conflict(attention: "AttentionConfig") -> str:
    if attention.relative:
        return (
            "a window has no relative positions: it scales energies of its own, for which none are defined; "
            "set relative to false, or kind to 'plain' or 'localness'"
        )
    if attention.window_mode == "additive" and attention.window_renorm:
        return "window_renorm is for window_mode 'multiplicative': additive weights sum to one already"
    return ""


KINDS = {
    "plain": Kind(label=lambda attention: []),
    "localness": Kind(localness_label),
    "window": Kind(window_label, window_conflict),
}


def option(kind: str, default: Any, choices: tuple[str, ...] = ()) -> Any:
    """A field that one kind of attention reads; without `choices` its type says what it may be."""
    return dataclasses.field(default=default, metadata={"kind": kind, "choices": choices})


@dataclass(frozen=True)
class AttentionConfig:
    """How one of a model's three attentions differs from plain attention.

    kind: "plain" or the name of a file in model/attention/kinds, for the layers named by `layers`: "lower" (the lower
    half, at most three), "full" (all) or numbers counted from 1; the other layers are plain.
    relative: relative positions (Shaw et al. 2018), always in all layers.
    The options of a kind are explained in its file. segment: keys in a segment; None: no segments.
    """

    kind: str = "plain"
    layers: str | tuple[int, ...] = "lower"
    relative: bool = False
    gauss_window: str = option("localness", "query", ("fixed", "layer", "query", "head"))
    gauss_coords: str = option("localness", "paper", ("paper", "thumt"))
    window_mode: str = option("window", "additive", ("multiplicative", "additive"))
    window_renorm: bool = option("window", False)
    segment: int | None = option("window", None)

    def __post_init__(self) -> None:
        _check_choice("kind", self.kind, tuple(KINDS))
        for field in dataclasses.fields(self):
            self._check_field(field.name, getattr(self, field.name), field.default, field.metadata)
        if conflict := KINDS[self.kind].conflict(self):
            raise ConfigError(conflict)

    def _check_field(self, name: str, value: object, default: object, about: Mapping[str, Any]) -> None:
        if about.get("choices"):
            _check_choice(name, value, about["choices"])
        if isinstance(default, bool) and not isinstance(value, bool):
            raise ConfigError(f"{name} must be true or false, not {value!r}")
        if name == "layers":
            self._check_layers()
        if name == "segment" and value is not None and not _is_count(value):
            raise ConfigError(f"segment must be a number of keys, at least 1, or null for none, not {value!r}")
        # A field that the kind never reads can only be a mistake.
        owners = tuple(KINDS)[1:] if name == "layers" else (about.get("kind", self.kind),)
        if self.kind not in owners and value != default:
            wanted = " or ".join(f"'{kind}'" for kind in owners)
            raise ConfigError(f"{name} has no meaning for kind '{self.kind}': leave it out or choose {wanted}")

    def _check_layers(self) -> None:
        if self.layers in ("lower", "full"):
            return
        numbers = self.layers if isinstance(self.layers, tuple) else ()
        if not numbers or not all(_is_count(number) for number in numbers) or len(set(numbers)) < len(numbers):
            raise ConfigError(
                f"layers must be 'lower', 'full' or a list of different numbers from 1, not {self.layers!r}"
            )

    def layer_numbers(self, layers: int) -> tuple[int, ...]:
        """The numbers of the layers that are of this kind, of `layers` in all."""
        if isinstance(self.layers, tuple):
            return self.layers
        return tuple(range(1, 1 + (layers if self.layers == "full" else min(3, math.ceil(layers / 2)))))

    @property
    def label(self) -> str:
        """For people: "AW,Seg", "MW,full", "Gauss query,Rel", "" for plain attention."""
        label = KINDS[self.kind].label
        parts = [self.kind] if label is None else label(self)
        if isinstance(self.layers, tuple):
            parts.append("L" + "+".join(str(number) for number in self.layers))
        elif self.layers != "lower":
            parts.append(self.layers)
        return ",".join(parts + (["Rel"] if self.relative else []))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str) -> "AttentionConfig":
        """Raises ConfigError; its message begins with `where`, the name of the section."""
        if not isinstance(values, Mapping):
            raise ConfigError(f"{where} must be a section of keys and values, not {values!r}")
        reject_unknown_keys(values, (field.name for field in dataclasses.fields(cls)), where)
        layers = values.get("layers", "lower")
        try:
            return cls(**{**values, "layers": tuple(layers) if isinstance(layers, list) else layers})
        except ConfigError as error:
            raise ConfigError(f"{where}: {error}") from error


@dataclass(frozen=True)
class ModelConfig:
    """Shape of an encoder-decoder Transformer, or with `encoder_layers` 0 of a decoder-only language model.

    `ngram` is the order N of Chelba et al. 2019: the decoder sees the last N-1 target tokens, its own input
    included; None is full causal attention. `max_length` bounds source and target positions.

    The other fields are for models that others trained. norm: "before" every sub-layer, with one more at the end (Xiong
    et al. 2020), or "after" every residual sum (Vaswani et al. 2017). activation: "relu", "swish" or "gelu", in
    feed-forward layers. positions: sinusoids with the sines in the first half ("halved") or at even indices
    ("interleaved"), or "none". scaled_embedding: embeddings are multiplied by sqrt(d_model). source_embedding: "shared"
    with the target's, or "separate", as it must be for a source vocabulary of its own (source_vocab_size). tied_output:
    the target's embedding is the output projection; output_bias adds one number for each word to its result. pad_id,
    unk_id, bos_id, eos_id: see SpecialIds.
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
    encoder_attention: AttentionConfig = AttentionConfig()
    decoder_attention: AttentionConfig = AttentionConfig()
    cross_attention: AttentionConfig = AttentionConfig()
    norm: str = "before"
    activation: str = "relu"
    positions: str = "halved"
    scaled_embedding: bool = True
    source_embedding: str = "shared"
    source_vocab_size: int | None = None
    tied_output: bool = True
    output_bias: bool = False
    pad_id: int = PAD_ID
    unk_id: int = UNK_ID
    bos_id: int = BOS_ID
    eos_id: int = EOS_ID

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
        _check_choice("norm", self.norm, ("before", "after"))
        _check_choice("activation", self.activation, ("relu", "swish", "gelu"))
        _check_choice("positions", self.positions, ("halved", "interleaved", "none"))
        _check_choice("source_embedding", self.source_embedding, ("shared", "separate"))
        for name in ("scaled_embedding", "tied_output", "output_bias"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"{name} must be true or false, not {getattr(self, name)!r}")
        if self.source_vocab_size is not None:
            if not _is_count(self.source_vocab_size):
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
        if not self.encoder_layers and AttentionConfig() != self.encoder_attention:
            raise ConfigError("encoder_attention: a language model (encoder_layers 0) has no encoder; leave it out")
        if not self.encoder_layers and AttentionConfig() != self.cross_attention:
            raise ConfigError("cross_attention: a language model (encoder_layers 0) has no source; leave it out")
        for site in SITES:
            attention, layers = self.attention(site)
            if max(attention.layer_numbers(layers), default=0) > layers:
                beyond = f"layers {list(attention.layers)} go beyond the {layers} layers there are"
                raise ConfigError(f"{site}_attention: {beyond}; count from 1")

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
        return all(self.attention(site)[0] == AttentionConfig() for site in SITES)

    @property
    def variant(self) -> str:
        """For people: "plain N=8", "Enc(AW)-Cr(AW,Seg)-Dec(MW) full", "LM Dec(MW) full"."""
        sites = {"Enc": self.encoder_attention, "Cr": self.cross_attention, "Dec": self.decoder_attention}
        named = [f"{site}({attention.label})" for site, attention in sites.items() if attention.label]
        prefix = "" if self.encoder_layers else "LM "
        return f"{prefix}{'-'.join(named) or 'plain'} {'full' if self.ngram is None else f'N={self.ngram}'}"

    @property
    def ids(self) -> SpecialIds:
        return SpecialIds(self.pad_id, self.unk_id, self.bos_id, self.eos_id)

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
        names = [f"{site}_attention" for site in SITES]
        nested = {name: AttentionConfig.from_dict(values[name], name) for name in names if name in values}
        return cls(**{**values, **nested})

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


CONTEXT_ATTENTIONS = ("flat-sentence", "flat-word", "sparse-soft", "sparse-sparse")
CONTEXT_SIDES = ("encoder", "decoder")


@dataclass(frozen=True)
class ContextConfig:
    """The layer that looks at the other sentences of a document (Maruf et al. 2019).

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
    """How many sentences away a sentence looks at most; None is the whole document."""
    decay: float | str | None = None
    """What a sentence's energies lose for every sentence between: nothing, a rate from 0 on, or "learned", one rate for
    every head (see model.attention.decay)."""

    def __post_init__(self) -> None:
        for name, choices in (("attention", CONTEXT_ATTENTIONS), ("side", CONTEXT_SIDES)):
            if getattr(self, name) not in choices:
                raise ConfigError(f"context {name} must be one of {', '.join(choices)}, not {getattr(self, name)!r}")
        if not _is_count(self.num_heads):
            raise ConfigError(f"context num_heads must be a whole number from 1 on, not {self.num_heads!r}")
        if self.ffn_dim is not None and not _is_count(self.ffn_dim):
            raise ConfigError(
                f"context ffn_dim must be a whole number from 1 on, or null for 4 x d_model, not {self.ffn_dim!r}"
            )
        if not isinstance(self.dropout, int | float) or not 0 <= self.dropout < 1:
            raise ConfigError(f"context dropout must be a number in [0, 1), not {self.dropout!r}")
        if self.reach is not None and not _is_count(self.reach):
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

"""The configuration of one attention: its kind, the options of every kind, labels for people, and what conflicts."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from model.config_checks import ConfigError, check_choice, is_count, reject_unknown_keys

Site = Literal["encoder", "decoder", "cross"]
"""The place of an attention in the model; cross-attention is between decoder and encoder."""
SITES: tuple[Site, ...] = ("encoder", "decoder", "cross")


@dataclass(frozen=True)
class Kind:
    """The configuration of a kind of attention; its mechanism is in model/attention/kinds/NAME.py."""

    label: Callable[["AttentionConfig"], list[str]] | None = None
    """The parts of its name for people, which are joined by commas; None is the kind's name."""
    conflict: Callable[["AttentionConfig"], str] = lambda attention: ""
    """Why its options cannot be combined, "" where they can."""
    sites: tuple[Site, ...] = SITES
    """The places where it is possible."""
    is_recurrent: bool = False
    """Whether its past is one vector a row rather than a ring (see model.attention.recurrent)."""


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


def ssru_conflict(attention: "AttentionConfig") -> str:
    return "the SSRU attends to nothing, so it has no relative positions; set relative to false" * attention.relative


KINDS = {
    "plain": Kind(label=lambda attention: []),
    "localness": Kind(localness_label),
    "window": Kind(window_label, window_conflict),
    "ssru": Kind(conflict=ssru_conflict, sites=("decoder",), is_recurrent=True),
}


def option(kind: str, default: Any, choices: tuple[str, ...] = ()) -> Any:
    """A field of one kind of attention; without `choices` any value of its type is valid."""
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
        check_choice("kind", self.kind, tuple(KINDS))
        for field in dataclasses.fields(self):
            self._check_field(field.name, getattr(self, field.name), field.default, field.metadata)
        if conflict := KINDS[self.kind].conflict(self):
            raise ConfigError(conflict)

    def _check_field(self, name: str, value: object, default: object, about: Mapping[str, Any]) -> None:
        if about.get("choices"):
            check_choice(name, value, about["choices"])
        if isinstance(default, bool) and not isinstance(value, bool):
            raise ConfigError(f"{name} must be true or false, not {value!r}")
        if name == "layers":
            self._check_layers()
        if name == "segment" and value is not None and not is_count(value):
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
        if not numbers or not all(is_count(number) for number in numbers) or len(set(numbers)) < len(numbers):
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


PLAIN = AttentionConfig()

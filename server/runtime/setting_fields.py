"""Fields of settings: their descriptions, their bounds, and their values as texts."""

import dataclasses
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ENV_PREFIX = "RINGMT_"
T = TypeVar("T")


class SettingsError(ValueError):
    """An invalid setting; the message names it and what to write instead."""


def setting(
    default: T, meaning: str, at_least: float | None = None, shown: str | None = None, matches: str | None = None
) -> T:
    """A dataclass field with its default, its description and its smallest value. `shown` replaces a default that
    depends on the machine in help texts; `matches` is the pattern of a text."""
    metadata = {"meaning": meaning, "at_least": at_least, "shown": shown, "matches": matches}
    field: T = dataclasses.field(default=default, metadata=metadata)
    return field


@dataclass(frozen=True)
class Setting:
    """The description of a setting. `kind` is the field's type; `choices`: the value in a help text."""

    name: str
    kind: object
    default: str
    meaning: str
    is_engine: bool

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def env(self) -> str:
        return ENV_PREFIX + self.name.upper()

    @property
    def is_list(self) -> bool:
        return self.kind == tuple[Path, ...]

    @property
    def choices(self) -> str:
        if get_origin(self.kind) is Literal:
            return "|".join(get_args(self.kind))
        if self.kind is int:
            return "N"
        if self.kind is float:
            return "X"
        return "TEXT" if self.kind is str else "FOLDERS"


def check(settings: "DataclassInstance") -> None:
    """Raise SettingsError for a number below its smallest value or a text that is not among the choices."""
    kinds = get_type_hints(type(settings))
    for field in dataclasses.fields(settings):
        value, least = getattr(settings, field.name), field.metadata.get("at_least")
        if least is not None and not (math.isfinite(value) and value >= least):
            raise SettingsError(f"{field.name} must be at least {least}, not {value}")
        pattern = field.metadata.get("matches")
        if pattern and not re.fullmatch(pattern, value):
            raise SettingsError(f"{field.name} is {field.metadata['meaning']}; not '{value}'")
        choices = get_args(kinds[field.name]) if get_origin(kinds[field.name]) is Literal else ()
        if choices and value not in choices:
            raise SettingsError(f"{field.name} must be one of {', '.join(choices)}, not '{value}'")


def parse(origin: str, text: str, kind: object) -> Any:
    """`text` as a value of the field's type; choices and bounds are checked by `check`."""
    try:
        if kind is int:
            return int(text)
        if kind is float:
            return float(text)
    except ValueError:
        expected = "a whole number" if kind is int else "a number"
        raise SettingsError(f"{origin} must be {expected}, not '{text}'") from None
    if kind == tuple[Path, ...]:
        return tuple(Path(part.strip()) for part in text.split(",") if part.strip())
    return text

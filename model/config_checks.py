"""Checks that all configurations share, and their error."""

import difflib
from collections.abc import Iterable


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


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigError(f"{name} must be {' or '.join(repr(choice) for choice in choices)}, not {value!r}")


def is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1

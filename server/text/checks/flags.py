"""Flags for suspicious translations. They are reported with the translation; nothing is repaired silently."""

import re

from server.text.checks.clock import clock_changed
from server.text.checks.currencies import currency_lost
from server.text.checks.numbers import numbers_changed
from server.text.checks.repetition import is_repetitive

MIN_COPIED_WORDS = 3

_WORD = re.compile(r"[^\W\d_]+")
_DIGIT = re.compile(r"\d")


def find_flags(source: str, target: str, languages: tuple[str, str] = ("", "")) -> tuple[str, ...]:
    """The flags (server.telemetry.labels.FLAGS) that follow from the two texts alone, in the order of FLAGS.
    `languages`: the codes of source and target, "" for unknown ones."""
    if not target.strip():
        return ("empty",) if any(map(str.isalnum, source)) else ()
    flags = {
        "loop": is_repetitive(source, target),
        "numbers_changed": _has_other_numbers(source, target, languages),
        "untranslated": is_copy(source, target),
    }
    return tuple(flag for flag, is_set in flags.items() if is_set)


def _has_other_numbers(source: str, target: str, languages: tuple[str, str]) -> bool:
    if not (_DIGIT.search(source) or _DIGIT.search(target)):
        return False
    return (
        numbers_changed(source, target, languages)
        or clock_changed(source, target)
        or currency_lost(source, target, languages[1].partition("-")[0])
    )


def is_copy(source: str, target: str) -> bool:
    """Whether the target has the words of the source, and at least three."""
    words = _WORD.findall(source.casefold())
    return len(words) >= MIN_COPIED_WORDS and words == _WORD.findall(target.casefold())

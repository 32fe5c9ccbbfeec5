"""Flags for what looks wrong with a translation. They are reported with it; nothing is hidden or repaired silently."""

import re
from collections import Counter
from itertools import chain

from server.text.repetition import is_repetitive

SMALL_NUMBER = 12
"""Numbers up to this are often written as words in one of two languages."""
MIN_COPIED_WORDS = 3
MAX_DIGITS = 1000
"""How many digits of a number are compared, from its end: Python takes minutes to read one of a million digits."""

_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]+")


def find_flags(source: str, target: str) -> tuple[str, ...]:
    """The flags (server.outcomes.FLAGS) that the two texts show by themselves, in their order."""
    if not target.strip():
        return ("empty",) if any(map(str.isalnum, source)) else ()
    found = {
        "loop": is_repetitive(source, target),
        "numbers_changed": numbers_changed(source, target),
        "untranslated": is_copy(source, target),
    }
    return tuple(flag for flag, holds in found.items() if holds)


def numbers_changed(source: str, target: str) -> bool:
    """True when the texts have different numbers, however they write them: "1,234.5" is "1.234,5", "11/21" is "21.11".

    A small number that only one of them has may be a word in the other.
    """
    before, after = _numbers(source), _numbers(target)
    lost, new = before - after, after - before
    if (not lost and not new) or _digits(source) == _digits(target):  # the latter: "1000" is "1,000"
        return False
    return bool(lost and new) or any(int(one) > SMALL_NUMBER for one in chain(lost, new))


def is_copy(source: str, target: str) -> bool:
    """True when a source of at least three words came back as it was."""
    words = _WORD.findall(source.casefold())
    return len(words) >= MIN_COPIED_WORDS and words == _WORD.findall(target.casefold())


def _numbers(text: str) -> Counter[str]:
    """Runs of digits as ASCII without leading zeros, and how often each stands there."""
    return Counter(str(int(run[-MAX_DIGITS:])) for run in _DIGITS.findall(text))


def _digits(text: str) -> list[int]:
    return [int(one) for run in _DIGITS.findall(text) for one in run]

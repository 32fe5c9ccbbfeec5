"""Flags for what looks wrong with a translation. They are reported with it; nothing is hidden or repaired silently."""

import re
from collections import Counter
from itertools import chain

from server.text.checks.repetition import is_repetitive

SMALL_NUMBER = 12
"""Numbers up to this are often written as words in one of two languages."""
MIN_COPIED_WORDS = 3
MAX_DIGITS = 1000
"""How many digits of a number are compared, from its end: Python takes minutes to read one of a million digits."""

_DIGITS = re.compile(r"\d+")
_LONG_NUMBER = re.compile(r"(?<!\d)\d++(?:[.,]\d++){2,}+")
_WORD = re.compile(r"[^\W\d_]+")


def find_flags(source: str, target: str) -> tuple[str, ...]:
    """The flags (server.telemetry.labels.FLAGS) that the two texts show by themselves, in their order."""
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
    if _is_punctuated_otherwise(source, target):
        return True
    before, after = _numbers(source), _numbers(target)
    lost, new = before - after, after - before
    if (not lost and not new) or _digits(source) == _digits(target):  # the latter: "1000" is "1,000"
        return False
    return bool(lost and new) or any(int(one) > SMALL_NUMBER for one in chain(lost, new))


def _is_punctuated_otherwise(source: str, target: str) -> bool:
    """True when a number with thousands and more is another one though it has the same digits: "1.234.567" is neither
    "1.234,567" nor "1.234.56.7"."""
    meant = {(digits, decimals) for digits, decimals in _long_numbers(source) if decimals is not None}
    known = {digits for digits, _ in meant}
    return any(one[0] in known and one not in meant for one in _long_numbers(target))


def _long_numbers(text: str) -> list[tuple[str, int | None]]:
    """Digits and number of decimals of what is punctuated twice or more; None where no language writes numbers so."""
    found: list[tuple[str, int | None]] = []
    for run in _LONG_NUMBER.findall(text):
        whole, marks = re.split("[.,]", run), re.findall("[.,]", run)
        decimals = len(whole.pop()) if marks[-1] != marks[0] else 0
        is_grouped = len(set(marks[: len(whole) - 1])) == 1 and len(whole[0]) <= 3 and {*map(len, whole[1:])} == {3}
        found.append((re.sub("[.,]", "", run), decimals if is_grouped else None))
    return found


def is_copy(source: str, target: str) -> bool:
    """True when a source of at least three words came back as it was."""
    words = _WORD.findall(source.casefold())
    return len(words) >= MIN_COPIED_WORDS and words == _WORD.findall(target.casefold())


def _numbers(text: str) -> Counter[str]:
    """Runs of digits as ASCII without leading zeros, and how often each stands there."""
    return Counter(str(int(run[-MAX_DIGITS:])) for run in _DIGITS.findall(text))


def _digits(text: str) -> list[int]:
    return [int(one) for run in _DIGITS.findall(text) for one in run]

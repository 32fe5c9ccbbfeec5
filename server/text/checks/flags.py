"""Flags for suspicious translations. They are reported with the translation; nothing is repaired silently."""

import re
from collections import Counter
from itertools import chain

from server.text.checks.repetition import is_repetitive

SMALL_NUMBER = 12
"""Numbers up to this one are often written as words in one of the two languages."""
MIN_COPIED_WORDS = 3
MAX_DIGITS = 1000
"""Digits of a number that are compared, from its end: Python takes minutes to parse a million digits."""

_DIGITS = re.compile(r"\d+")
_LONG_NUMBER = re.compile(r"(?<!\d)\d++(?:[.,]\d++){2,}+")
_WORD = re.compile(r"[^\W\d_]+")


def find_flags(source: str, target: str) -> tuple[str, ...]:
    """The flags (server.telemetry.labels.FLAGS) that follow from the two texts alone, in the order of FLAGS."""
    if not target.strip():
        return ("empty",) if any(map(str.isalnum, source)) else ()
    flags = {
        "loop": is_repetitive(source, target),
        "numbers_changed": numbers_changed(source, target),
        "untranslated": is_copy(source, target),
    }
    return tuple(flag for flag, is_set in flags.items() if is_set)


def numbers_changed(source: str, target: str) -> bool:
    """Whether the texts have different numbers; notation does not matter: "1,234.5" equals "1.234,5", "11/21" equals
    "21.11". A small number that only one text has may be a word in the other text."""
    if _has_moved_separators(source, target):
        return True
    before, after = _numbers(source), _numbers(target)
    lost, new = before - after, after - before
    if (not lost and not new) or _digits(source) == _digits(target):  # equal digits: "1000" and "1,000"
        return False
    return bool(lost and new) or any(int(number) > SMALL_NUMBER for number in chain(lost, new))


def _has_moved_separators(source: str, target: str) -> bool:
    """Whether a number with two or more separators has the same digits and another value in the target: "1.234.567" is
    neither "1.234,567" nor "1.234.56.7"."""
    expected = {(digits, decimals) for digits, decimals in _long_numbers(source) if decimals is not None}
    known = {digits for digits, _ in expected}
    return any(number[0] in known and number not in expected for number in _long_numbers(target))


def _long_numbers(text: str) -> list[tuple[str, int | None]]:
    """Digits and number of decimals of numbers with two or more separators; None if no language writes numbers so."""
    numbers: list[tuple[str, int | None]] = []
    for run in _LONG_NUMBER.findall(text):
        whole, separators = re.split("[.,]", run), re.findall("[.,]", run)
        decimals = len(whole.pop()) if separators[-1] != separators[0] else 0
        is_grouped = (
            len(set(separators[: len(whole) - 1])) == 1 and len(whole[0]) <= 3 and {*map(len, whole[1:])} == {3}
        )
        numbers.append((re.sub("[.,]", "", run), decimals if is_grouped else None))
    return numbers


def is_copy(source: str, target: str) -> bool:
    """Whether the target has the words of the source, and at least three."""
    words = _WORD.findall(source.casefold())
    return len(words) >= MIN_COPIED_WORDS and words == _WORD.findall(target.casefold())


def _numbers(text: str) -> Counter[str]:
    """Runs of digits, as ASCII without leading zeros, and their counts."""
    return Counter(str(int(run[-MAX_DIGITS:])) for run in _DIGITS.findall(text))


def _digits(text: str) -> list[int]:
    return [int(digit) for run in _DIGITS.findall(text) for digit in run]

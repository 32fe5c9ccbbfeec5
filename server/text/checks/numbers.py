"""Compares the numbers of a text and its translation by their values."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain

from server.text.base.numbers import NUMBER, PART, Reading, base_of, is_grouped, readings, whole

SMALL_NUMBER = 12
"""Numbers up to this one are often written as words in one of the two languages."""

_DIGITS = re.compile(r"\d+")
_SPACE = re.compile(r"(?<=\d)[ \u00a0\u202f'\u2019](?=\d{3}(?!\d))")
_AFTERNOON = re.compile(r"\d\s?p\.?m\b", re.IGNORECASE)


def numbers_changed(source: str, target: str, languages: tuple[str, str] = ("", "")) -> bool:
    """Whether the texts have different numbers; notation does not matter: "1,234.5" equals "1.234,5", "11/21" equals
    "21.11". With the `languages` of source and target known, "1.000" is a thousand in German and one in English. A
    small number that only one text has may be a word in the other text. Linear in the lengths of the texts."""
    source, target = _as_ascii(source), _as_ascii(target)
    languages = (base_of(languages[0]), base_of(languages[1]))
    if not _changed(source, target, languages):
        return False
    spaced = _SPACE.search(source) or _SPACE.search(target)
    return not spaced or _changed(_SPACE.sub("", source), _SPACE.sub("", target), languages)


def _changed(source: str, target: str, languages: tuple[str, str]) -> bool:
    is_afternoon = bool(_AFTERNOON.search(source) or _AFTERNOON.search(target))
    lost, new = _unmatched(NUMBER.findall(source), NUMBER.findall(target), languages, is_afternoon)
    if not lost and not new:
        return False
    if any(map(PART.search, lost)) and any(map(PART.search, new)):
        return True
    if lost and new and any(is_grouped(parts) for parts in map(PART.split, chain(lost, new)) if len(parts) > 1):
        return True
    before, after = _components(lost), _components(new)
    left, added = before - after, after - before
    if left and added:
        return True
    of_one_side = left or added
    if any(int(number) > SMALL_NUMBER for number in of_one_side):
        return True
    return any(_is_within(text, of_one_side) and not _may_be_words(text) for text in chain(lost, new))


def _is_within(number: str, runs: Mapping[str, int]) -> bool:
    """Whether all of the number's digits are among these runs."""
    return all(count <= runs.get(run, 0) for run, count in _components([number]).items())


def _may_be_words(number: str) -> bool:
    """Whether a number up to SMALL_NUMBER has a name, also with a half (1.5) or as an hour (7:00)."""
    parts = PART.split(number)
    return len(parts) == 1 or (len(parts) == 2 and parts[1] in ("5", "00"))


def _unmatched(
    source: list[str], target: list[str], languages: tuple[str, str], is_afternoon: bool
) -> tuple[list[str], list[str]]:
    """The numbers of each side that the other does not have."""
    by_reading: dict[Reading, list[int]] = {}
    for number, text in enumerate(target):
        for reading in readings(text, languages, 1, is_afternoon):
            by_reading.setdefault(reading, []).append(number)
    used: set[int] = set()
    lost: list[str] = []
    for text in source:
        match = None
        for reading in readings(text, languages, 0, is_afternoon):
            free = by_reading.get(reading, [])
            while free and free[-1] in used:
                free.pop()
            if free:
                match = free.pop()
                break
        if match is None:
            lost.append(text)
        else:
            used.add(match)
    return lost, [text for number, text in enumerate(target) if number not in used]


def _components(numbers: Iterable[str]) -> Counter[str]:
    """The runs of digits, without leading zeros, and their counts."""
    return Counter(whole(run) for text in numbers for run in _DIGITS.findall(text))


def _as_ascii(text: str) -> str:
    """The text with the digits of other scripts as ASCII."""
    if text.isascii():
        return text
    return "".join(str(unicodedata.digit(char)) if char > "9" and char.isdecimal() else char for char in text)

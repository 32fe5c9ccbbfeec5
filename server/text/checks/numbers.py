"""Compares the numbers of a text and its translation by their values."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

SMALL_NUMBER = 12
"""Numbers up to this one are often written as words in one of the two languages."""
MAX_DIGITS = 1000
"""Digits of a number that are compared, from its end."""

_DECIMAL_POINT = frozenset({"en", "zh", "ja", "ko", "th", "he", "hi"})
_DECIMAL_COMMA = frozenset({
    "de", "fr", "es", "it", "nl", "pt", "pl", "cs", "sk", "sl", "hr", "da", "sv", "nb", "no", "fi", "hu", "ro", "ru",
    "uk", "bg", "el", "tr", "lt", "lv", "et", "id", "ca",
})  # fmt: skip
_NUMBER = re.compile(
    r"(?<!\d)(?:\d{4}-\d{2}-\d{2}|\d{1,2}/\d{1,2}/\d{2,4}|\d{1,2}:\d{2}(?::\d{2})?)(?!\d)"
    r"|\d++(?:[.,]\d++)*+"
)
_PART = re.compile(r"[./,:-]")
_DIGITS = re.compile(r"\d+")
_SPACE = re.compile(r"(?<=\d)[ \u00a0\u202f'\u2019](?=\d{3}(?!\d))")
_AFTERNOON = re.compile(r"\d\s?p\.?m\b", re.IGNORECASE)

Reading = tuple[str, ...]
"""What a number may mean: "value", its digits and its decimals; "time" and "date" with their parts; "text"."""


def numbers_changed(source: str, target: str, languages: tuple[str, str] = ("", "")) -> bool:
    """Whether the texts have different numbers; notation does not matter: "1,234.5" equals "1.234,5", "11/21" equals
    "21.11". With the `languages` of source and target known, "1.000" is a thousand in German and one in English. A
    small number that only one text has may be a word in the other text. Linear in the lengths of the texts."""
    source, target = _as_ascii(source), _as_ascii(target)
    languages = (_base(languages[0]), _base(languages[1]))
    if not _changed(source, target, languages):
        return False
    spaced = _SPACE.search(source) or _SPACE.search(target)
    return not spaced or _changed(_SPACE.sub("", source), _SPACE.sub("", target), languages)


def _changed(source: str, target: str, languages: tuple[str, str]) -> bool:
    is_afternoon = bool(_AFTERNOON.search(source) or _AFTERNOON.search(target))
    lost, new = _unmatched(_NUMBER.findall(source), _NUMBER.findall(target), languages, is_afternoon)
    if not lost and not new:
        return False
    if any(map(_PART.search, lost)) and any(map(_PART.search, new)):
        return True
    if lost and new and any(_is_grouped(parts) for parts in map(_PART.split, chain(lost, new)) if len(parts) > 1):
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
    parts = _PART.split(number)
    return len(parts) == 1 or (len(parts) == 2 and parts[1] in ("5", "00"))


def _unmatched(
    source: list[str], target: list[str], languages: tuple[str, str], is_afternoon: bool
) -> tuple[list[str], list[str]]:
    """The numbers of each side that the other does not have."""
    by_reading: dict[Reading, list[int]] = {}
    for number, text in enumerate(target):
        for reading in _readings(text, languages, 1, is_afternoon):
            by_reading.setdefault(reading, []).append(number)
    used: set[int] = set()
    lost: list[str] = []
    for text in source:
        match = None
        for reading in _readings(text, languages, 0, is_afternoon):
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


def _readings(text: str, languages: tuple[str, str], side: int, is_afternoon: bool) -> Iterator[Reading]:
    """What a number may mean in its language."""
    separators, parts = _PART.findall(text), _PART.split(text)
    if not separators:
        yield ("value", _whole(text), "")
        if is_afternoon and len(text) <= 2 and int(text) <= 24:  # "5 p.m.", "17 Uhr"
            yield ("hour", str(int(text) % 12))
        return
    language = languages[side]
    yield from _values(parts, separators, language)
    if len(parts) == 3 and len(set(separators)) == 1 and separators[0] in "./-" and max(map(len, parts)) <= 4:
        yield from _dates(parts, separators[0])
    if len(parts) == 2 and separators[0] in ".:" and len(parts[0]) <= 2 == len(parts[1]) and parts[1] < "60":
        hour = int(parts[0])
        yield ("time", str(hour % 12 if is_afternoon else hour), parts[1])
    if not (_writes_otherwise(languages) and _is_grouped(parts)):
        yield ("text", text)


def _values(parts: list[str], separators: list[str], language: str) -> Iterator[Reading]:
    """Numbers with a decimal sign, with signs between thousands, or with both."""
    if not {*separators} <= {".", ","}:
        return
    last = separators[-1]
    thousands = {"," if language in _DECIMAL_POINT else "." if language in _DECIMAL_COMMA else ""}
    is_one_kind = len({*separators}) == 1
    if is_one_kind and _is_grouped(parts) and ("" in thousands or last in thousands):
        yield ("value", _whole("".join(parts)), "")
    is_decimal = separators.count(last) == 1 and len({*separators[:-1]}) <= 1
    is_decimal = is_decimal and (len(parts) == 2 or _is_grouped(parts[:-1]))
    if is_decimal and last not in thousands:
        yield ("value", _whole("".join(parts[:-1])), parts[-1].rstrip("0"))


def _dates(parts: list[str], separator: str) -> Iterator[Reading]:
    first, second, third = (str(int(part)) for part in parts)
    if separator == "-":
        first, third = third, first
    year = third[-2:]
    yield ("date", first, second, year)
    if separator == "/":
        yield ("date", second, first, year)


def _is_grouped(parts: list[str]) -> bool:
    """Whether these are thousands; no number begins with a zero."""
    return 0 < len(parts[0]) <= 3 and parts[0] != "0" and all(len(part) == 3 for part in parts[1:])


def _writes_otherwise(languages: tuple[str, str]) -> bool:
    """Whether the languages have each other's decimal sign between thousands."""
    first, second = languages
    has_comma, has_point = first in _DECIMAL_COMMA, first in _DECIMAL_POINT
    return (has_comma and second in _DECIMAL_POINT) or (has_point and second in _DECIMAL_COMMA)


def _components(numbers: Iterable[str]) -> Counter[str]:
    """The runs of digits, without leading zeros, and their counts."""
    return Counter(_whole(run) for text in numbers for run in _DIGITS.findall(text))


def _whole(digits: str) -> str:
    return digits[-MAX_DIGITS:].lstrip("0") or "0"


def _base(code: str) -> str:
    """The language without its region: "pt-BR" -> "pt"."""
    return code.replace("_", "-").partition("-")[0].lower()


def _as_ascii(text: str) -> str:
    """The text with the digits of other scripts as ASCII."""
    if text.isascii():
        return text
    return "".join(str(unicodedata.digit(char)) if char > "9" and char.isdecimal() else char for char in text)

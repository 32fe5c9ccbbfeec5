"""Numbers as languages write them, and what they may mean."""

import re
from collections.abc import Iterator

MAX_DIGITS = 1000
"""Digits of a number that are compared, from its end."""

_DECIMAL_POINT = frozenset({"en", "zh", "ja", "ko", "th", "he", "hi"})
_DECIMAL_COMMA = frozenset({
    "de", "fr", "es", "it", "nl", "pt", "pl", "cs", "sk", "sl", "hr", "da", "sv", "nb", "no", "fi", "hu", "ro", "ru",
    "uk", "bg", "el", "tr", "lt", "lv", "et", "id", "ca",
})  # fmt: skip
NUMBER = re.compile(
    r"(?<!\d)(?:\d{4}-\d{2}-\d{2}|\d{1,2}/\d{1,2}/\d{2,4}|\d{1,2}:\d{2}(?::\d{2})?)(?!\d)"
    r"|\d++(?:[.,]\d++)*+"
)
PART = re.compile(r"[./,:-]")

Reading = tuple[str, ...]
"""What a number may mean: "value", its digits and its decimals; "time" and "date" with their parts; "text"."""


def readings(text: str, languages: tuple[str, str], side: int, is_afternoon: bool) -> Iterator[Reading]:
    """What a number may mean in its language."""
    separators, parts = PART.findall(text), PART.split(text)
    if not separators:
        yield ("value", whole(text), "")
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
    if not (writes_otherwise(languages) and is_grouped(parts)):
        yield ("text", text)


def _values(parts: list[str], separators: list[str], language: str) -> Iterator[Reading]:
    """Numbers with a decimal sign, with signs between thousands, or with both."""
    if not {*separators} <= {".", ","}:
        return
    last = separators[-1]
    thousands = {"," if language in _DECIMAL_POINT else "." if language in _DECIMAL_COMMA else ""}
    is_one_kind = len({*separators}) == 1
    if is_one_kind and is_grouped(parts) and ("" in thousands or last in thousands):
        yield ("value", whole("".join(parts)), "")
    is_decimal = separators.count(last) == 1 and len({*separators[:-1]}) <= 1
    is_decimal = is_decimal and (len(parts) == 2 or is_grouped(parts[:-1]))
    if is_decimal and last not in thousands:
        yield ("value", whole("".join(parts[:-1])), parts[-1].rstrip("0"))


def _dates(parts: list[str], separator: str) -> Iterator[Reading]:
    first, second, third = (str(int(part)) for part in parts)
    if separator == "-":
        first, third = third, first
    year = third[-2:]
    yield ("date", first, second, year)
    if separator == "/":
        yield ("date", second, first, year)


def is_grouped(parts: list[str]) -> bool:
    """Whether these are thousands; no number begins with a zero."""
    return 0 < len(parts[0]) <= 3 and parts[0] != "0" and all(len(part) == 3 for part in parts[1:])


def writes_otherwise(languages: tuple[str, str]) -> bool:
    """Whether the languages have each other's decimal sign between thousands."""
    first, second = languages
    has_comma, has_point = first in _DECIMAL_COMMA, first in _DECIMAL_POINT
    return (has_comma and second in _DECIMAL_POINT) or (has_point and second in _DECIMAL_COMMA)


def whole(digits: str) -> str:
    return digits[-MAX_DIGITS:].lstrip("0") or "0"


def base_of(code: str) -> str:
    """The language without its region: "pt-BR" -> "pt"."""
    return code.replace("_", "-").partition("-")[0].lower()

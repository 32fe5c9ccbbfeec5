"""Times of the day: "9 Uhr" is no "9 pm", although the numbers are equal."""

import re
from collections import Counter

_HALVES = re.compile(r"(?<![\d.,:])(\d{1,2})(?:[:.](\d{2}))?\s?([ap])(?:\.\s?m\.|m\b)", re.IGNORECASE)
_HOURS = re.compile(r"(?<![\d.,:])(\d{1,2})(?:[:.](\d{2}))?\s?Uhr\b")
_PART_OF_DAY = re.compile(
    r"nachmittag|abend|mittag|mitternacht|nachts|morgens|vormittag|fr\u00fch|afternoon|evening|night|morning|noon",
    re.IGNORECASE,
)

Time = tuple[int, int]
"""Hour of the day, 0 to 23, and minute."""


def clock_changed(source: str, target: str) -> bool:
    """Whether the hours of one text, which are those of the whole day ("15 Uhr"), are others than those of the other
    one, which are of one half ("3 pm"). Texts that say a part of the day in words are not compared, nor others than as
    many times. Linear in the lengths of the texts."""
    if not _HOURS.search(source) and not _HOURS.search(target):
        return False
    for whole, halves in ((source, target), (target, source)):
        times, others = _of_day(whole), _of_halves(halves)
        if times and len(times) == len(others) and not _HALVES.search(whole) and not _HOURS.search(halves):
            return Counter(times) != Counter(others) and not _PART_OF_DAY.search(whole)
    return False


def _of_day(text: str) -> list[Time]:
    return [(int(match[1]) % 24, int(match[2] or 0)) for match in _HOURS.finditer(text)]


def _of_halves(text: str) -> list[Time]:
    return [_time(int(match[1]), int(match[2] or 0), match[3].lower() == "p") for match in _HALVES.finditer(text)]


def _time(hour: int, minute: int, is_afternoon: bool) -> Time:
    return (hour if hour > 12 else hour % 12 + 12 * is_afternoon), minute

"""Numbers in the notation of the target's language, where a model writes a mixture: "1.250.50" for "1.250,50"."""

import re
from collections import deque

from server.text.base.numbers import NUMBER, base_of, readings, writes_otherwise

_NO_DIGITS = re.compile(r"\D+")
_UNFINISHED = re.compile(r"[0-9.,]++\Z")
_SWAPPED = str.maketrans(".,", ",.")


def with_notation_of(
    source: str,
    target: str,
    languages: tuple[str, str],
    is_whole: bool = True,
    mask: re.Pattern[str] | None = None,
) -> str:
    """`target` with those numbers rewritten that have the digits of a number of `source`, in order, but another value.
    Only between `languages` of which one writes 1,234.5 and the other 1.234,5. Unless the target `is_whole`, more
    digits of the number at its end may follow: that is left out. The numbers of masks stay: `mask` matches one. Linear
    in the lengths."""
    known = (base_of(languages[0]), base_of(languages[1]))
    if not writes_otherwise(known):
        return target
    if not is_whole:
        target = _UNFINISHED.sub("", target)
    numbers: dict[str, deque[str]] = {}
    for number in NUMBER.findall(source if mask is None else mask.sub(" ", source)):
        if "." in number or "," in number:
            numbers.setdefault(_NO_DIGITS.sub("", number), deque()).append(number)
    if not numbers:
        return target

    def rewritten(match: re.Match[str]) -> str:
        same_digits = numbers.get(_NO_DIGITS.sub("", match[0]))
        return _in_notation(same_digits.popleft(), match[0], known) if same_digits else match[0]

    if mask is None:
        return NUMBER.sub(rewritten, target)
    parts, last = list[str](), 0
    for found in mask.finditer(target):
        parts += (NUMBER.sub(rewritten, target[last : found.start()]), found[0])
        last = found.end()
    return "".join([*parts, NUMBER.sub(rewritten, target[last:])])


def _in_notation(number: str, written: str, languages: tuple[str, str]) -> str:
    """`written`, a model's translation of `number`, which has the same digits; rewritten if it means something else. A
    copy of two parts, such as "2.0", may be a version or a time."""
    meant, read = set(readings(number, languages, 0, False)), set(readings(written, languages, 1, False))
    values = {reading for reading in meant if reading[0] == "value"}
    is_ambiguous = ("text", written) in meant and len({*written} & {".", ","}) < 2
    if not values or values & read or is_ambiguous or {reading for reading in meant & read if reading[0] == "time"}:
        return written
    return number.translate(_SWAPPED)

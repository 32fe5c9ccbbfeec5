"""The encoding of a text that is not UTF-8 and declares none, where it is certain."""

import re
from typing import Any

_LATIN = ("cp1252", "cp1250", "cp1254", "iso8859_2")
_CANDIDATES = (
    *_LATIN, "cp1251", "cp1253", "koi8_r", "cp866", "shift_jis", "euc_jp", "gb18030", "big5", "euc_kr",
)  # fmt: skip
"""Windows' encodings first: they have more characters than those of ISO with the same letters."""
_PREFERRED = "cp1252"
SAMPLE_BYTES = 2**15
"""Bytes by which an encoding is detected; all others must fit, too."""
_MOST_CHAOS = 0.1
_LESS_CHAOS, _MORE_COHERENCE = 0.02, 0.04
"""By how much the best reading is better than every other one, in one of the two."""
_MOST_BYTES_PER_ZERO = 16
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_WORD_OF_OTHERS = re.compile(rb"[\x80-\xff]{3}")
"""Text in Latin letters has no three bytes in a row that are not ASCII, other text has little else."""
_FOREIGN = re.compile(
    r"[^\W\d_](?:[\u00a1-\u00a9\u00ab\u00ac\u00ae-\u00b1\u00b6\u00b8\u00bb-\u00bf\u02c6\u02dc\u2020-\u2022\u2026\u2030\u2039"
    r"\u203a\u201a\u201c-\u201e\u20ac\u2122\u0152\u0160\u0178\u017d])[^\W\d_A-Z]|\u00a4"
    r"|[a-z\u00e0-\u00ff][\u201a\u201e\u02c6\u02dc\u0152\u0160\u0178\u017d\u00bf\u00a1]"
)
"""Signs and capitals that stand inside of no word, and opening quotes that end none: letters of another encoding."""
_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")


def detected_encoding(data: bytes) -> str | None:
    """The name of Python's codec for the text; None if it is not certain. `data` is not UTF-8. Raises ImportError."""
    from charset_normalizer import from_bytes

    candidates = _CANDIDATES if _WORD_OF_OTHERS.search(data) else _LATIN
    matches = list(from_bytes(_sample(data), cp_isolation=list(candidates), preemptive_behaviour=False))
    if not matches or matches[0].chaos > _MOST_CHAOS:
        return None
    best = matches[0]
    if any(_is_as_good(other, best) for other in matches[1:] if str(other) != str(best)):
        return None
    names = best.could_be_from_charset
    name = _PREFERRED if _PREFERRED in names else next(name for name in _CANDIDATES if name in names)
    try:
        text = data.decode(name)
    except UnicodeDecodeError:
        return None
    return None if _CONTROL.search(text) or _FOREIGN.search(text) else name


def _is_as_good(other: Any, best: Any) -> bool:
    is_less_chaotic = other.chaos - best.chaos >= _LESS_CHAOS
    return not (is_less_chaotic or best.coherence - other.coherence >= _MORE_COHERENCE)


def _sample(data: bytes) -> bytes:
    """Whole lines from the first one on that is not ASCII."""
    if len(data) <= SAMPLE_BYTES:
        return data
    first = _NOT_ASCII.search(data)
    start = data.rfind(b"\n", 0, first.start() if first else 0) + 1
    end = data.rfind(b"\n", start, start + SAMPLE_BYTES) + 1
    return data[start : end or start + SAMPLE_BYTES]


def utf16_without_mark(data: bytes) -> str | None:
    """The codec of UTF-16 text without a byte order mark; None if it is not certain that it is. Signs, blanks and Latin
    letters have a zero byte, all on the same side; a text has no other zero bytes."""
    even, odd = data[::2].count(0), data[1::2].count(0)
    if len(data) % 2 or (even and odd) or (even + odd) * _MOST_BYTES_PER_ZERO < len(data):
        return None
    name = "utf-16-be" if even else "utf-16-le"
    try:
        text = data.decode(name)
    except UnicodeDecodeError:
        return None
    return None if _CONTROL.search(text) else name

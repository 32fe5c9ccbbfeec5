"""HTML's numeric character references of any length. `html.unescape` parses numbers in quadratic time and raises
ValueError for more than 4,300 digits."""

import html
import re

_NUMBER = re.compile(r"&#([0-9]++);?")
_MAX_DIGITS = len(str(0x10FFFF))


def unescape(text: str) -> str:
    """`text` with characters in place of references."""
    return html.unescape(_NUMBER.sub(_shorten, text)) if "&" in text else text


def _shorten(match: re.Match[str]) -> str:
    if len(match[0]) < 100:
        return match[0]
    digits = match[1].lstrip("0") or "0"
    return "\ufffd" if len(digits) > _MAX_DIGITS else f"&#{digits};"

"""HTML's references to characters by numbers of any length. `html.unescape` reads numbers in quadratic time, and raises
ValueError for those of more than 4,300 digits."""

import html
import re

_NUMBER = re.compile(r"&#([0-9]++);?")
_MOST_DIGITS = len(str(0x10FFFF))


def unescape(text: str) -> str:
    """References as the characters that they stand for."""
    return html.unescape(_NUMBER.sub(_short, text)) if "&" in text else text


def _short(match: re.Match[str]) -> str:
    if len(match[0]) < 100:
        return match[0]
    digits = match[1].lstrip("0") or "0"
    return "\ufffd" if len(digits) > _MOST_DIGITS else f"&#{digits};"

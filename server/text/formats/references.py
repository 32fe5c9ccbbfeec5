"""HTML's references to characters by numbers of any length. `html.unescape` reads numbers in quadratic time, and raises
ValueError for those of more than 4,300 digits."""

import html
import re

from server.text.formats.opened import DamagedFile

_NUMBER = re.compile(r"&#0*+([0-9]++);?")
_MOST_DIGITS = len(str(0x10FFFF))
_LONG = re.compile(r"&#[0-9]{1000}")


def unescape(text: str) -> str:
    """References as the characters that they stand for."""
    return html.unescape(_NUMBER.sub(_short, text)) if "&" in text else text


def check_references(text: str) -> None:
    """Raises DamagedFile for a reference that nothing can read."""
    if found := _LONG.search(text):
        raise DamagedFile(f"a reference to a character ({found[0][:20]}...) has a thousand digits; remove it")


def _short(match: re.Match[str]) -> str:
    if len(match[0]) < 100:
        return match[0]
    return "\ufffd" if len(match[1]) > _MOST_DIGITS else f"&#{match[1]};"

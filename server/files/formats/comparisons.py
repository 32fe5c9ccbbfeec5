"""Words that formulas compare with the words in cells: a cell with one of them stays, or the formula would give another
result."""

import re
from collections.abc import Iterator

from server.text.base.placeholders import PLACEHOLDER

SEPARATOR = "\x00"
"""Between formulas that are looked at together."""
_LITERAL = re.compile(r'"((?:[^"\x00]|"")*+)"')


def compared_words(formula: str) -> Iterator[str]:
    """The words in quotes in formulas or conditions, in small letters. Lists of words ("yes,no") are divided."""
    for quoted in set(_LITERAL.findall(formula)):
        literal = quoted.replace('""', '"')
        yield as_compared(literal)
        if "," in literal:
            yield from (as_compared(word.strip()) for word in literal.split(","))


def as_compared(text: str) -> str:
    """Programs compare without regard to capitals."""
    return PLACEHOLDER.sub("", text).casefold()

"""Words that formulas compare with the words in cells: a cell with one of them stays, or the formula would give another
result."""

import re
from collections.abc import Iterator

from server.text.base.placeholders import PLACEHOLDER

_LITERAL = re.compile(r'"((?:[^"]|"")*+)"')


def compared_words(formula: str) -> Iterator[str]:
    """The words in quotes in a formula or a condition, in small letters. Lists of words ("yes,no") are divided."""
    for match in _LITERAL.finditer(formula):
        literal = match[1].replace('""', '"')
        yield as_compared(literal)
        if "," in literal:
            yield from (as_compared(word.strip()) for word in literal.split(","))


def as_compared(text: str) -> str:
    """Programs compare without regard to capitals."""
    return PLACEHOLDER.sub("", text).casefold()

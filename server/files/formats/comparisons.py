"""Words that formulas compare with the words in cells: a cell with one of them stays, or the formula would give another
result."""

import re
from collections.abc import Iterable, Iterator

from server.text.base.placeholders import PLACEHOLDER

SEPARATOR = "\x00"
"""Between formulas that are searched together."""
WORDS_IN_FORMULAS = "words inside of formulas were not translated"
_SHOWN = re.compile(r"[^\W\d_]{2}")
_DATE = re.compile(r"[ymdhs0\W\d]*+(?:am/pm)?", re.IGNORECASE)
_BEFORE = 100
"""Characters before words in which is seen what a formula does with them."""
_COMPARED = re.compile(
    r"""[\w\])}"']\s*+[=<>]++\s*+$|(?:COUNT|SUM|AVERAGE|MAX|MIN)IFS?\([^"()]{1,60}$|(?:MATCH|LOOKUP)\(\s*+$""",
    re.IGNORECASE,
)
_LITERAL = re.compile(r'"((?:[^"\x00]|"")*+)"')


def compared_words(formula: str) -> Iterator[str]:
    """The words in quotes in formulas or conditions, in small letters. Lists of words ("yes,no") are divided."""
    for quoted in set(_LITERAL.findall(formula)):
        literal = quoted.replace('""', '"')
        yield as_compared(literal)
        if "," in literal:
            yield from (as_compared(word.strip()) for word in literal.split(","))


def have_words(formulas: Iterable[str]) -> bool:
    """Whether formulas have words in quotes which they show: which they do not compare with others, and which are no
    formats of dates and no addresses."""
    return any(
        _SHOWN.search(match[1])
        and not _DATE.fullmatch(match[1])
        and "://" not in match[1]
        and not _COMPARED.search(formula[max(0, match.start() - _BEFORE) : match.start()])
        for formula in formulas
        if '"' in formula
        for match in _LITERAL.finditer(formula)
    )


def as_compared(text: str) -> str:
    """Programs compare without regard to capitals."""
    return PLACEHOLDER.sub("", text).casefold()

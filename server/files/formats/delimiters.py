"""The first rows of a table, by which its delimiter is recognised."""

import re
from collections.abc import Sequence

_ROWS = 20
_QUOTED = re.compile(r'"[^"]*+(?:""[^"]*+)*+"')


def first_lines(text: str) -> list[str]:
    """The first lines that are not empty."""
    return [line for line in text.splitlines() if line.strip()][:_ROWS]


def first_rows(text: str) -> list[str]:
    """The first rows, with quoted cells emptied: their delimiters belong to sentences."""
    return first_lines(_QUOTED.sub('""', text))


def is_even(rows: Sequence[str], delimiter: str) -> bool:
    """Whether all rows have the same number of delimiters, and at least one."""
    counts = {row.count(delimiter) for row in rows}
    return len(counts) == 1 and 0 not in counts

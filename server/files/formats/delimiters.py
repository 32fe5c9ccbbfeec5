"""The first rows of a table, by which its delimiter is recognised."""

import re
from collections.abc import Sequence

DELIMITERS = ",;\t|"
_ROWS = 20
_QUOTED = re.compile(r'(?<![^,;\t|\r\n ])"[^"]*+(?:""[^"]*+)*+"')
"""A quoted cell, or what is quoted in a sentence."""
_SENTENCE_ENDS = (".", "!", "?", "\u2026", ":", '"', "'", "\u201d", ")")
_DECLARED = re.compile(r"sep=([,;\t|])[ \t]*(?:\r?\n|\Z)", re.IGNORECASE)


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


def delimiter_of(text: str) -> tuple[str, int]:
    """The delimiter of a table's cells, and where its first row begins; "" for a table of one column whose sentences
    have commas.

    It is the one that a first line "sep=;" declares; else a tab where all rows have the same number of them; else of
    those that all rows have the same number of, and that do not only stand in sentences, the one with most; else the
    one with most in the row that has fewest."""
    if declared := _DECLARED.match(text):
        return declared[1], declared.end()
    rows = first_rows(text[:20_000])
    if is_even(rows, "\t"):
        return "\t", 0
    counts = {delimiter: min((row.count(delimiter) for row in rows), default=0) for delimiter in DELIMITERS}
    in_rows = [delimiter for delimiter in DELIMITERS if counts[delimiter] and not _is_prose(rows, delimiter)]
    even = [delimiter for delimiter in in_rows if is_even(rows, delimiter)]
    if even or in_rows:
        return max(even or in_rows, key=lambda delimiter: counts[delimiter]), 0
    return ("" if any(delimiter in row for row in rows for delimiter in DELIMITERS) else ","), 0


def _is_prose(rows: Sequence[str], delimiter: str) -> bool:
    """Whether the delimiter stands in sentences only: a blank follows it everywhere, and the rows have different
    numbers of it or end as sentences do."""
    if delimiter == "\t" or any(row.count(delimiter) != row.count(f"{delimiter} ") for row in rows):
        return False
    num_sentences = sum(row.rstrip().endswith(_SENTENCE_ENDS) for row in rows)
    return not is_even(rows, delimiter) or num_sentences * 2 > len(rows)

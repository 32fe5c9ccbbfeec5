"""Entries of a glossary as TSV or CSV: a line each, with the term, a tab or a comma, and the translation; and as TBX or
TMX (`tbx_tmx`)."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from server.glossaries.tbx_tmx import ROOTS, MalformedTerms, read_terms

EntriesFormat = Literal["tsv", "csv", "tbx", "tmx"]
MOST_BYTES = 1024
"""UTF-8 bytes of a term, and of its translation."""
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class MalformedEntries(ValueError):
    """Entries that cannot be read; the message says which entry and why."""


def read_entries(text: str, written: EntriesFormat, source: str, target: str) -> dict[str, str]:
    """Terms with their translations, in order, stripped of spaces. Lines of CSV may have the languages (`source` and
    `target`) in a third and a fourth column. Raises MalformedEntries, also without any entry."""
    if written == "tsv" or written == "csv":
        rows = _tsv(text) if written == "tsv" else _csv(text, source, target)
    else:
        rows = _xml(text, written, source, target)
    entries: dict[str, str] = {}
    for number, cells in enumerate(rows, 1):
        if not any(cells):
            continue
        if len(cells) != 2:
            parted = "tab" if written == "tsv" else "comma"
            raise MalformedEntries(f"entry {number} must be a term and its translation with one {parted} between them")
        term, translation = (_checked(cell, number) for cell in cells)
        if term in entries:
            raise MalformedEntries(f"entry {number} has the term of another entry: {term[:60]!r}")
        entries[term] = translation
    if not entries:
        of_languages = "" if written in ("tsv", "csv") else f" with terms in {source} and {target}"
        raise MalformedEntries(f"there is no entry{of_languages}")
    return entries


def write_entries(entries: Mapping[str, str]) -> str:
    """As TSV."""
    return "\n".join(f"{term}\t{translation}" for term, translation in entries.items())


def _tsv(text: str) -> Iterable[list[str]]:
    for line in text.split("\n"):
        yield [cell.strip() for cell in line.split("\t")]


def _csv(text: str, source: str, target: str) -> Iterable[list[str]]:
    """Rows of two cells; the languages of longer ones are checked and left out."""
    try:
        for number, cells in enumerate(csv.reader(io.StringIO(text, newline=""), strict=True), 1):
            row = [cell.strip() for cell in cells]
            languages = [cell.lower() for cell in row[2:]]
            if languages and languages != [source, target]:
                named = f"{row[2:4]}"[:60]
                raise MalformedEntries(f"entry {number} is not of the languages {source} and {target}: {named}")
            yield row[:2]
    except csv.Error as error:
        raise MalformedEntries(f"the entries are no CSV: {error}") from None


def _xml(text: str, written: Literal["tbx", "tmx"], source: str, target: str) -> Iterable[list[str]]:
    """Rows of two cells. Memories have many units twice: these are read once."""
    read: dict[str, str] = {}
    try:
        for term, translation in read_terms(text.encode("utf-8", "replace"), ROOTS[written], source, target):
            if read.get(term) != translation:
                read[term] = translation
                yield [term, translation]
    except MalformedTerms as error:
        raise MalformedEntries(f"the entries are no {written.upper()}: {error}") from None


def _checked(cell: str, number: int) -> str:
    problems: dict[str, Callable[[], object]] = {
        "an empty side": lambda: not cell,
        "a control character": lambda: _CONTROL.search(cell),
        f"a side of more than {MOST_BYTES} bytes": lambda: len(cell.encode()) > MOST_BYTES,
    }
    for problem, is_there in problems.items():
        if is_there():
            raise MalformedEntries(f"entry {number} has {problem}")
    return cell

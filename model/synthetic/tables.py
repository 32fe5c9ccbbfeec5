"""Tables of text that are written by hand: a row on each line, its cells between tabs. Empty lines and lines that begin
with # are left out."""

from collections.abc import Iterator
from pathlib import Path

Text = tuple[str, str]
"""A sentence, or a frame of one, and its translation."""
Rows = tuple[tuple[str, ...], ...]


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """(number in the file, counted from 1; line). Raises OSError."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line and not line.startswith("#"):
            yield number, line


def read_sections(path: Path) -> dict[str, Rows]:
    """Section -> its rows. A line [NAME] begins a section. Raises OSError."""
    sections: dict[str, list[tuple[str, ...]]] = {}
    for _, line in numbered_lines(path):
        if line.startswith("["):
            rows = sections.setdefault(line[1:-1], [])
        else:
            rows.append(tuple(line.split("\t")))
    return {name: tuple(rows) for name, rows in sections.items()}


def texts(rows: Rows) -> tuple[Text, ...]:
    """Rows of two cells. Raises ValueError for other rows."""
    return tuple((source, target) for source, target in rows)


def first_cells(rows: Rows) -> tuple[str, ...]:
    return tuple(row[0] for row in rows)

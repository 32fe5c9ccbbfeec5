"""Columns of a text that blanks align: translated cells are padded so that the columns stand below each other again."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice

_CELL = re.compile(r"\S+(?: {1,2}\S+)*+")
_COLUMNS = re.compile(r"\S {3,}(?=\S)")
_FIRST_COMBINING = "\u0300"
"""Before it every character has one column."""
_GAP = 2
"""Blanks between two cells, at least."""
_MOST_CELLS = 50
_FEWEST_LINES = 2
"""Of a table."""


@dataclass(frozen=True)
class _Cell:
    """A cell of a line, and the columns of signs where it begins and ends."""

    start: int
    end: int
    text: str


def with_columns(source: str, target: str) -> str:
    """The translation `target` of `source`, line by line, with the columns of the source. What is no table, or has
    other cells than its source, stays. Linear in the lengths of both."""
    if len(_COLUMNS.findall(source)) < _FEWEST_LINES:
        return target
    lines, translated = source.split("\n"), target.split("\n")
    if len(lines) != len(translated):
        return target
    at = 0
    for has_text, group in groupby(lines, lambda line: bool(line.strip())):
        count = len(list(group))
        if has_text:
            translated[at : at + count] = _padded(lines[at : at + count], translated[at : at + count])
        at += count
    return "\n".join(translated)


def _padded(lines: list[str], translated: list[str]) -> list[str]:
    """The lines of one block."""
    if lines == translated:
        return translated
    rows = [list(islice(_cells(line), _MOST_CELLS + 1)) for line in lines]
    is_table = [len(row) > 1 for row in rows]
    if sum(is_table) < _FEWEST_LINES or any(len(row) > _MOST_CELLS for row in rows):
        return translated
    new = [list(islice(_cells(line), _MOST_CELLS + 1)) for line in translated]
    starts = Counter(cell.start for row, is_row in zip(rows, is_table, strict=True) if is_row for cell in row)
    ends = Counter(cell.end for row, is_row in zip(rows, is_table, strict=True) if is_row for cell in row)
    anchors: list[list[int]] = []
    for row, other, is_row in zip(rows, new, is_table, strict=True):
        if is_row and len(row) != len(other):
            return translated
        anchors.append([])
        for cell in row if is_row else ():
            is_right = starts[cell.start] < 2 <= ends[cell.end] or starts[cell.start] < ends[cell.end]
            if max(starts[cell.start], ends[cell.end]) < 2 and cell is not row[0]:
                return translated
            anchors[-1].append(-cell.end if is_right and cell is not row[0] else cell.start)
    places = _places(anchors, new)
    return [
        _written(row, of_row, places, line) if of_row else line
        for row, of_row, line in zip(new, anchors, translated, strict=True)
    ]


def _places(anchors: Sequence[Sequence[int]], rows: Sequence[Sequence[_Cell]]) -> dict[int, int]:
    """Where each column begins (or, if its anchor is negative, ends) so that all of its cells have room."""
    places: dict[int, int] = {}
    ends = [0] * len(rows)
    """Of the cells that are placed, by row."""
    by_anchor: dict[int, list[tuple[int, _Cell]]] = {}
    for number, (of_row, cells_of_row) in enumerate(zip(anchors, rows, strict=True)):
        for anchor, cell in zip(of_row, cells_of_row, strict=False):
            by_anchor.setdefault(anchor, []).append((number, cell))
    for anchor in sorted(by_anchor, key=abs):
        cells = by_anchor[anchor]
        sizes = [_width(cell.text) if anchor < 0 else 0 for _, cell in cells]
        needed = [ends[row] + _GAP * (ends[row] > 0) + size for (row, _), size in zip(cells, sizes, strict=True)]
        places[anchor] = place = max(abs(anchor), *needed)
        for row, cell in cells:
            ends[row] = place if anchor < 0 else place + _width(cell.text)
    return places


def _written(row: Sequence[_Cell], anchors: Sequence[int], places: dict[int, int], line: str) -> str:
    parts: list[str] = []
    end = 0
    for cell, anchor in zip(row, anchors, strict=True):
        start = places[anchor] - (_width(cell.text) if anchor < 0 else 0)
        parts += (" " * max(start - end, 0), cell.text)
        end = max(start, end) + _width(cell.text)
    return "".join(parts) + line[len(line.rstrip()) :]


def _cells(line: str) -> Iterator[_Cell]:
    at = end = 0
    for match in _CELL.finditer(line):
        start = at + _width(line[end : match.start()])
        at, end = start + _width(match[0]), match.end()
        yield _Cell(start, at, match[0])


def _width(text: str) -> int:
    """Columns of a terminal: two for a wide character of East Asia, none for a combining one."""
    if max(text, default="") < _FIRST_COMBINING:
        return len(text)
    return sum(0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF") for char in text)

"""Columns of a text stand below each other in its translation, too."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.files.formats.registry import open_file
from server.files.formats.text_columns import _FIRST_COMBINING, _width, with_columns
from tests.growth import assert_linear

SIZES = st.integers(1, 12)
TABLES = st.integers(2, 4).flatmap(
    lambda count: st.lists(st.lists(st.tuples(SIZES, SIZES), min_size=count, max_size=count), min_size=2, max_size=6)
)
"""Rows of cells, each with its length and that of its translation."""


def laid_out(rows: list[list[str]], is_right: list[bool]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "   ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, is_right, strict=True)
        ).rstrip()
        for row in rows
    )
    return "\n".join(lines)


def translated(source: str, cells: dict[str, str]) -> str:
    """Every word has another length, every blank stays."""
    return "\n".join("".join(cells.get(part, part) for part in _parts(line)) for line in source.split("\n"))


def _parts(line: str) -> list[str]:
    parts: list[str] = []
    for char in line:
        if parts and (parts[-1][-1] == " ") == (char == " "):
            parts[-1] += char
        else:
            parts.append(char)
    return parts


@given(TABLES, st.lists(st.booleans(), min_size=4, max_size=4))
def test_columns_stay_columns(table: list[list[tuple[int, int]]], is_right: list[bool]) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    rows = [[letters[number * 4 + at] * size for at, (size, _) in enumerate(row)] for number, row in enumerate(table)]
    new = [[letters[number * 4 + at] * size for at, (_, size) in enumerate(row)] for number, row in enumerate(table)]
    is_right = [False, *is_right[1 : len(rows[0])]]
    source = laid_out(rows, is_right)
    cells = {old: other for row, of_row in zip(rows, new, strict=True) for old, other in zip(row, of_row, strict=True)}
    written = with_columns(source, translated(source, cells))
    assert [line.split() for line in written.split("\n")] == new
    lines = written.split("\n")
    places = [
        [(line.index(cell), line.index(cell) + len(cell)) for cell in row] for line, row in zip(lines, new, strict=True)
    ]
    for column in zip(*places, strict=True):
        assert len({start for start, _ in column}) == 1 or len({end for _, end in column}) == 1
    assert with_columns(source, source) == source


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("We walk   home.\n\nYes.", "Wir gehen   heim.\n\nJa."),
        ("a    b\nc    d", "aaaaa    b"),
        ("a    b\nc    d", "aaaaa b\nc    d"),
        ("a    b\nccc     d", "aaaaa    b\nccc     d"),
    ],
)
def test_what_is_no_table_stays(source: str, target: str) -> None:
    assert with_columns(source, target) == target


def test_a_file() -> None:
    file = "Prices\r\n\r\nNAME         SIZE\r\nRed house    large\r\nGarden       small\r\n\r\nYes.\r\n"
    opened = open_file(file.encode(), "a.txt", "de", 1000)
    [text] = opened.texts
    written = opened.write([text.replace("Red house", "Das rote Haus").replace("Garden", "\u5ead\u5712")]).decode()
    assert written == file.replace("NAME     ", "NAME       ").replace("Red house  ", "Das rote Haus").replace(
        "Garden       ", "\u5ead\u5712           "
    )


def test_it_takes_linear_time() -> None:
    tokens = ("a", " ", "   ", "\n", "a    a\n", "\u5ead")
    table = "Red house    large    1,500\n"
    assert_linear(lambda text: with_columns(text, text.replace("a", "bb")), tokens, ordinary=table)


@given(st.text(max_size=8))
def test_the_width_of_ordinary_letters_is_their_number(text: str) -> None:
    wide = (unicodedata.east_asian_width(char) in "WF" for char in text)
    assert _width(text) == sum(0 if unicodedata.combining(char) else 1 + w for char, w in zip(text, wide, strict=True))


def test_the_first_combining_character_is_the_first() -> None:
    signs = map(chr, range(ord(_FIRST_COMBINING)))
    assert not any(unicodedata.combining(char) or unicodedata.east_asian_width(char) in "WF" for char in signs)
    assert unicodedata.combining(_FIRST_COMBINING)

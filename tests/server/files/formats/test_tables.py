"""CSV: delimiters, columns of keys and names of columns, and which columns a client chooses."""

import csv
import io
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.files.formats.base import DamagedFile, FileOptions
from server.files.formats.delimiters import DELIMITERS, delimiter_of
from server.files.formats.registry import open_file

NEWLINES = st.sampled_from(["\n", "\r\n"])
HEADER = ["key", "en", "note"]
ROWS = [["menu.open", "Open, please", "a note"], ["error_disk", "The disk is full", "x"], ["c.d", 'Say "yes"', "y"]]


def written(data: str, **options: str) -> tuple[list[str], str]:
    opened = open_file(data.encode(), "a.csv", "de", 100_000, FileOptions(**options))
    return list(opened.texts), opened.write([source.upper() for source in opened.texts]).decode()


def table(rows: Sequence[Sequence[str]], delimiter: str = ",", newline: str = "\n") -> str:
    packed = io.StringIO()
    csv.writer(packed, delimiter=delimiter, lineterminator=newline).writerows(rows)
    return packed.getvalue()


@given(st.lists(st.integers(0, 6), min_size=1, max_size=5), st.sampled_from(",;|"), NEWLINES)
def test_tabs_come_before_what_stands_in_sentences(counts: list[int], delimiter: str, newline: str) -> None:
    sentences = ["Yes" + f"{delimiter} no" * count for count in counts]
    text = "".join(f"key.{number}\t{sentence}{newline}" for number, sentence in enumerate(sentences))
    expected = "".join(f"key.{number}\t{sentence.upper()}{newline}" for number, sentence in enumerate(sentences))
    assert written(text) == (sentences, expected)


@given(st.lists(st.integers(0, 3), min_size=2, max_size=6), NEWLINES)
def test_commas_of_sentences_in_one_column_divide_none(counts: list[int], newline: str) -> None:
    sentences = ["Good morning" + ", dear neighbour" * count + "." for count in counts]
    text = newline.join(["text", *sentences, ""])
    assert written(text) == (sentences, newline.join(["text", *(sentence.upper() for sentence in sentences), ""]))


@given(st.sampled_from(DELIMITERS), st.booleans(), NEWLINES, st.permutations(ROWS))
def test_keys_and_names_of_columns_stay(delimiter: str, has_names: bool, newline: str, rows: list[list[str]]) -> None:
    whole = [HEADER, *rows] if has_names else rows
    expected = [[key, *(cell.upper() for cell in row)] for key, *row in rows]
    if has_names:
        expected.insert(0, HEADER)
    texts, done = written(table(whole, delimiter, newline))
    assert texts == [cell for row in rows for cell in row[1:]]
    assert list(csv.reader(io.StringIO(done, newline=""), delimiter=delimiter)) == expected
    assert done.count(newline) == len(whole)


@pytest.mark.parametrize(
    ("columns", "chosen"),
    [
        ("en", {1}), ("EN, note", {1, 2}), ("2", {1}), ("2,note", {1, 2}), ("!note", {0, 1}), ("!key,!3", {1}),
    ],
)  # fmt: skip
def test_a_client_chooses_columns(columns: str, chosen: set[int]) -> None:
    _, done = written(table([HEADER, *ROWS]), columns=columns)
    assert list(csv.reader(io.StringIO(done))) == [
        HEADER,
        *([cell.upper() if at in chosen else cell for at, cell in enumerate(row)] for row in ROWS),
    ]


@pytest.mark.parametrize("columns", ["de", "4", "0", "-1", "en,!note", "99999999999"])
def test_a_column_that_is_not_there_is_refused(columns: str) -> None:
    with pytest.raises(DamagedFile, match=r"columns: there is no column .*; the first row is: key, en, note"):
        written(table([HEADER, *ROWS]), columns=columns)


def test_columns_have_names_with_delimiters() -> None:
    assert written('"a, b",c\nYes,No\n', columns='"a, b"')[1] == '"a, b",c\nYES,No\n'


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("Name;Price\nApple, red;3\n", ";"),
        ("id, text\n1, Hello\n2, Bye\n", ","),
        ("sep=|\nYes, no\n", "|"),
        ('"Yes, no"\n"Good, bad"\n', ","),
        ("He said, yes.\nShe said, no.\n", ""),
        ("a,b\nc\n", ""),
        ('"5"" pipe",3\n6" pipe,4\n', ","),
    ],
)
def test_the_delimiter_of(text: str, delimiter: str) -> None:
    assert delimiter_of(text)[0] == delimiter


def test_quotes_inside_of_cells_are_characters() -> None:
    assert written('5" pipe,6" pipe\n')[0] == ['5" pipe', '6" pipe']
    assert written(' "Yes, no" ,No\n')[1] == ' "YES, NO" ,NO\n'
    assert written('"Yes\n')[1] == '"""YES"\n'


def test_a_column_that_is_named_after_keys_stays_where_it_has_no_blanks() -> None:
    assert written("key,text\na,The door\nopen,Open it\n")[0] == ["The door", "Open it"]
    assert written("key,text\na key,The door\nopen,Open it\n")[0] == ["a key", "The door", "open", "Open it"]


def test_exports_of_shops_have_names_and_keys() -> None:
    """Their names of columns are read by the shop, and so are their handles."""
    data = "\ufeffHandle;Title;Body (HTML)\r\nred-house;The house;<p>Red</p>\r\n;;\r\n".encode()
    opened = open_file(data, "a.csv", "de", 10_000)
    assert opened.texts == ["The house", "<p>Red</p>"]
    ordinary = open_file(b"Title,Handle\nYes,No\n", "a.csv", "de", 10_000)
    assert ordinary.texts == ["Title", "Handle", "Yes", "No"]

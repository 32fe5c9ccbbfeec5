"""Entries of glossaries; DeepL's client reads and writes them, too, and is the twin."""

import csv
import io

import deepl.util
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.glossaries.tsv_csv import MalformedEntries, read_entries, write_entries

CELLS = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=8).map(str.strip)
ENTRIES = st.dictionaries(CELLS.filter(bool), CELLS.filter(bool), min_size=1, max_size=8)


@given(ENTRIES)
def test_the_client_writes_what_is_read_and_reads_what_is_written(entries: dict[str, str]) -> None:
    assert read_entries(deepl.util.convert_dict_to_tsv(entries), "tsv", "en", "de") == entries
    assert deepl.util.convert_tsv_to_dict(write_entries(entries)) == entries


@given(ENTRIES, st.sampled_from([[], ["en", "de"], ["EN", "DE"]]), st.sampled_from(["\n", "\r\n"]))
def test_csv_says_the_same(entries: dict[str, str], languages: list[str], end: str) -> None:
    written = io.StringIO()
    csv.writer(written, lineterminator=end).writerows([*pair, *languages] for pair in entries.items())
    assert read_entries(written.getvalue(), "csv", "en", "de") == entries
    assert deepl.util.convert_csv_to_dict(written.getvalue()) == entries


def test_lines_may_be_empty_or_end_in_any_way() -> None:
    assert read_entries("\na\tb\r\n\n  c d \t e\n", "tsv", "en", "de") == {"a": "b", "c d": "e"}
    assert read_entries('"a, b",c\n\n', "csv", "en", "de") == {"a, b": "c"}


@pytest.mark.parametrize(
    ("text", "written", "expected_message"),
    [
        ("", "tsv", "there is no entry"),
        (" \n\n", "csv", "there is no entry"),
        ("a\tb\nc", "tsv", "entry 2 must be a term"),
        ("a\tb\tc", "tsv", "entry 1 must be a term"),
        ("a", "csv", "entry 1 must be a term"),
        ("a\t", "tsv", "entry 1 has an empty side"),
        (" ,b", "csv", "entry 1 has an empty side"),
        ("a\tb\na \tc", "tsv", "entry 2 has the term of another entry"),
        ("a\tb\x07", "tsv", "entry 1 has a control character"),
        ('"a\nb",c', "csv", "entry 1 has a control character"),
        ("a\u2028\tb", "tsv", None),
        ("a\u2028b\tb", "tsv", "entry 1 has a control character"),
        ("\u00e4" * 513 + "\tb", "tsv", "entry 1 has a side of more than 1024 bytes"),
        ("a,b,en", "csv", "entry 1 is not of the languages en and de"),
        ("a,b,de,en", "csv", "entry 1 is not of the languages en and de"),
        ('"a,b', "csv", "no CSV"),
    ],
)
def test_entries_that_cannot_be_used_say_why(text: str, written: str, expected_message: str | None) -> None:
    if expected_message is None:
        assert read_entries(text, written, "en", "de")  # type: ignore[arg-type]
        return
    with pytest.raises(MalformedEntries, match=expected_message):
        read_entries(text, written, "en", "de")  # type: ignore[arg-type]


@pytest.mark.parametrize("columns", [["de", "en"], ["en"], ["de"], ["en", "en"], ["en", "de", "fr"], ["en", "de", ""]])
def test_csv_of_other_languages_is_refused(columns: list[str]) -> None:
    """In the order of the glossary: a glossary the other way round would be read the wrong way."""
    with pytest.raises(MalformedEntries, match="entry 2 is not of the languages en and de"):
        read_entries(f"a,b,en,de\nc,d,{','.join(columns)}\n", "csv", "en", "de")

"""A file is its spans written anew, and all between them."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.files.formats.base import Budget, FileTooLarge
from server.files.formats.spans import Span, opened, replacement, value


@given(st.lists(st.tuples(st.text("ab", max_size=3), st.text("cd", min_size=1, max_size=3)), max_size=5))
def test_what_is_between_spans_stays(parts: list[tuple[str, str]]) -> None:
    text, spans = "", []
    for between, source in parts:
        text += between
        spans.append(value(len(text), len(text) + len(source), source, str.upper))
        text += source
    file = opened(text, str.encode, reversed(spans), Budget(1000))
    assert file.texts == [source for _, source in parts]
    assert file.write(file.texts) == text.encode()
    expected = "".join(
        f"{between}{source[::-1].upper() if source != source[::-1] else source}" for between, source in parts
    )
    assert file.write([source[::-1] for source in file.texts]).decode() == expected


def test_added_spans_are_written_whatever_is_translated() -> None:
    spans = [replacement(0, 1, "x"), Span(2, 2, ("c", "d"), "".join, is_added=True)]
    file = opened("abe", str.encode, spans, Budget(1000))
    assert file.write(file.texts) == b"xbcde"[:2] + b"cd" + b"e"


def test_every_text_has_a_translation() -> None:
    file = opened("ab", str.encode, [value(0, 1, "a", str)], Budget(1000))
    for translations in ([], ["a", "b"]):
        with pytest.raises((ValueError, IndexError)):
            file.write(translations)


def test_texts_count_as_they_are_read() -> None:
    def endless() -> Iterator[Span]:
        yield value(0, 1, "a" * 101, str)
        raise AssertionError("read on")

    with pytest.raises(FileTooLarge):
        opened("a", str.encode, endless(), Budget(100))

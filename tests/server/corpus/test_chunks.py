"""Chunks of lines, and lines that are too large for a server."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.corpus import chunks
from server.corpus.chunks import chunks_of, halves, translate_lines
from server.corpus.remote import RequestRejected, ServerBusy, TooLarge

LINES = st.lists(st.text(max_size=40) | st.just("") | st.text("ab .", min_size=30, max_size=90), max_size=80)


@given(lines=LINES, start=st.integers(0, 5), size=st.integers(1, 9))
def test_every_line_is_in_one_chunk_in_order(lines: list[str], start: int, size: int) -> None:
    result = list(chunks_of(iter(lines), start, size))
    assert [line for chunk in result for line in chunk.lines] == lines
    assert [chunk.start for chunk in result] == [
        start + sum(len(c.lines) for c in result[:i]) for i in range(len(result))
    ]
    assert all(0 < len(chunk.lines) <= size for chunk in result)


def test_long_lines_make_small_chunks() -> None:
    sizes = [[len(line) for line in chunk.lines] for chunk in chunks_of(["x" * 9_000] * 3 + ["y" * 30_000, "z"])]
    assert sizes == [[9_000, 9_000], [9_000], [30_000], [1]]


@given(text=st.text(min_size=2, max_size=200))
def test_halves_are_not_empty_and_join_to_the_whole(text: str) -> None:
    first, second = halves(text)
    assert first + second == text
    assert first
    assert second


def test_a_text_is_cut_after_a_sentence_or_a_word() -> None:
    assert halves("One two three four. Five six seven.") == ("One two three four. ", "Five six seven.")
    assert halves("one two three  four five") == ("one two three  ", "four five")
    assert halves("abcdef") == ("abc", "def")


class Small:
    """A translator with a limit of characters per request; translations are in upper case."""

    def __init__(self, most: int, is_timeout: bool = False) -> None:
        self.most, self.is_timeout = most, is_timeout

    def __call__(self, texts: Sequence[str]) -> list[str]:
        if sum(map(len, texts)) > self.most:
            raise TooLarge("too large", self.is_timeout)
        return [text.upper() for text in texts]


@given(lines=st.lists(st.text("aä .", max_size=60), max_size=20), most=st.integers(1, 100))
def test_a_request_that_is_too_large_is_sent_in_halves(lines: list[str], most: int) -> None:
    assert translate_lines(Small(most), lines) == [line.upper() for line in lines]


def test_a_line_that_cannot_be_cut_is_an_error() -> None:
    with pytest.raises(RequestRejected, match="too large"):
        translate_lines(Small(0), ["abc", "d"])
    with pytest.raises(ServerBusy):
        translate_lines(Small(0, is_timeout=True), ["abc", "d"])


def test_a_very_long_line_is_never_sent_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHARACTERS", 50)
    sent = list[str]()

    def record(texts: Sequence[str]) -> list[str]:
        sent.extend(texts)
        return list(texts)

    line = "A house stands by the river. " * 100
    assert translate_lines(record, [line]) == [line]
    assert max(map(len, sent)) <= 50


def test_a_translation_has_no_line_break() -> None:
    assert translate_lines(lambda texts: ["a\nb" for _ in texts], ["x"]) == ["a b"]

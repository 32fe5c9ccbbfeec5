from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.text.base.pieces import Pieces
from server.text.split.long_sentences import split_long

LONG_TEXT = st.text(st.sampled_from("abc ,;. \u4f60\uff0c\u0301\ufdfa\U0001f600"), max_size=300)


def words(sentences: Sequence[str]) -> list[int]:
    """A piece for every word, and EOS."""
    return [1 + len(sentence.split()) for sentence in sentences]


@given(text=LONG_TEXT, limit=st.integers(4, 40))
def test_parts_are_the_sentence_and_fit(pieces: Pieces, text: str, limit: int) -> None:
    parts = split_long(text, limit, pieces.lengths)
    assert "".join(parts) == text
    for part, length in zip(parts, pieces.lengths(parts), strict=True):
        assert length <= limit or len(part) == 1


def test_a_short_sentence_stays_whole() -> None:
    assert split_long("one, two, three", 4, words) == ["one, two, three"]


def test_clauses_come_before_spaces() -> None:
    parts = split_long("one two three, four five six, seven", 4, words)
    assert parts == ["one two three, ", "four five six, ", "seven"]


def test_spaces_come_before_letters() -> None:
    assert split_long("one two three four five six", 4, words) == ["one two three ", "four five six"]


def test_parts_are_about_equal() -> None:
    parts = split_long("a b c d e f g h i j", 9, words)
    assert words(parts) == [6, 6]


def test_a_decimal_comma_is_no_clause() -> None:
    assert split_long("it is 3,5 or 4,25 here", 4, words) == ["it is 3,5 ", "or 4,25 here"]


def test_an_accent_stays_with_its_letter() -> None:
    parts = split_long("e\u0301" * 40, 6, lambda sentences: [1 + len(sentence) for sentence in sentences])
    assert len(parts) > 1
    assert all(part[0] == "e" for part in parts)


@given(
    marks=st.lists(st.integers(0, 6), min_size=9, max_size=60),
    limit=st.integers(20, 60),
    mark=st.sampled_from("\u0301\u0308\u200d\ufe0f"),
)
def test_up_to_seven_marks_stay_with_their_letter(marks: list[int], limit: int, mark: str) -> None:
    """Wherever the cuts fall."""
    text = "".join("e" + mark * count for count in marks)
    parts = split_long(text, limit, lambda sentences: [1 + len(sentence) for sentence in sentences])
    assert "".join(parts) == text
    assert all(part[0] == "e" for part in parts)


@pytest.mark.parametrize("unit", ["a", "a ", "a, ", "\u4f60", "\ufdfa"])
def test_a_very_long_sentence_is_cut_into_parts_that_fit(pieces: Pieces, unit: str) -> None:
    text = unit * (100_000 // len(unit))
    parts = split_long(text, 256, pieces.lengths)
    assert "".join(parts) == text
    assert max(pieces.lengths(parts)) <= 256


@given(sizes=st.lists(st.integers(1, 9), min_size=2, max_size=60), limit=st.integers(12, 40), joint=st.integers(0, 2))
def test_no_word_is_split_that_fits(sizes: list[int], limit: int, joint: int) -> None:
    """Not even where words side by side have more pieces than each by itself."""

    def lengths(parts: Sequence[str]) -> list[int]:
        return [1 + sum(map(len, part.split())) + joint * (len(part.split()) - 1) for part in parts]

    sentence = " ".join("a" * size for size in sizes)
    parts = split_long(sentence, limit, lengths)
    assert "".join(parts) == sentence
    assert max(lengths(parts)) <= limit
    assert [len(word) for part in parts for word in part.split()] == sizes

"""Texts come apart into paragraphs and back, and a translation has the line breaks of its text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.text.split.joined_lines import Paragraph, paragraphs_of
from tests.growth import assert_linear

BREAKS = ("\n", "\r\n", "\r", "\u2028")
LINES = st.sampled_from(
    [
        "Where is it",
        " the old lamp, ",
        "- Yes.",
        "* a b",
        "1. one",
        "\u2026",
        "",
        "  ",
        "{a b c} d",
        "12",
        "\u4e16\u754c",
    ]
)
TEXTS = st.builds(
    lambda line_break, lines: line_break.join(lines), st.sampled_from(BREAKS), st.lists(LINES, max_size=12)
)


def restored(text: str, translate: str = "{}") -> str:
    """The text with `translate` for every sentence, which is a whole paragraph."""
    return "".join(
        part
        if isinstance(part, str)
        else part.restored([(part.text, translate.replace("{}", part.text))], translate.replace("{}", part.text))
        for part in paragraphs_of(text)
    )


@given(TEXTS)
def test_untranslated_text_comes_back(text: str) -> None:
    assert restored(text) == text


@given(TEXTS, st.sampled_from(["kurz", "ein paar W\u00f6rter, die da stehen", "{}, {}.", "\u4e16\u754c\u4eba\u6c11"]))
def test_every_translation_has_the_line_breaks_of_its_text_in_their_order(text: str, translate: str) -> None:
    breaks = re.findall("\r\n|[\n\r\u2028]", text)
    assert re.findall("\r\n|[\n\r\u2028]", restored(text, translate)) == breaks


@pytest.mark.parametrize(
    ("text", "paragraphs"),
    [
        ("The dog\nbarks.\r\n\r\nHe is\r\nhungry.", ["The dog barks.", "He is hungry."]),
        ("Title\n\n* first point\n* second\n  point", ["Title", "* first point", "* second point"]),
        ("- Who is it?\n- It is me,\nyour friend.", ["- Who is it?", "- It is me, your friend."]),
        ("Built in\n1984.\n---\nEnd", ["Built in 1984.", "End"]),
        ("1) one\n2) two", ["1) one", "2) two"]),
        (" \n\n", []),
    ],
)
def test_lines_of_a_paragraph_are_joined(text: str, paragraphs: list[str]) -> None:
    assert [part.text for part in paragraphs_of(text) if isinstance(part, Paragraph)] == paragraphs


@pytest.mark.parametrize(
    ("text", "translation", "expected"),
    [
        ("When the sun rises,\nwe go.", "Wenn die Sonne aufgeht, gehen wir.", "Wenn die Sonne aufgeht,\ngehen wir."),
        ("one two\r\nthree four", "eins zwei drei vier", "eins zwei\r\ndrei vier"),
        ("one \n two", "eins zwei", "eins \n zwei"),
        ("one\ntwo\nthree", "eins", "eins\n\n"),
        ("one two\nthree", "{a b c} drei", "{a b c}\ndrei"),
        ("one\ntwo", "\u4e00\u4e8c", "\u4e00\n\u4e8c"),
    ],
)
def test_breaks_are_where_they_fit(text: str, translation: str, expected: str) -> None:
    [paragraph] = paragraphs_of(text)
    assert isinstance(paragraph, Paragraph)
    assert paragraph.restored([(paragraph.text, translation)], translation) == expected


def test_a_break_between_two_sentences_stays_there() -> None:
    [paragraph] = paragraphs_of("A dog.\nA cat is\nhere.")
    assert isinstance(paragraph, Paragraph)
    sentences = [("A dog.", "Da ist ein Hund."), ("A cat is here.", "Katze da.")]
    assert paragraph.restored(sentences, "Da ist ein Hund. Katze da.") == "Da ist ein Hund.\nKatze\nda."


def test_time_is_linear() -> None:
    tokens = ("a ", "a\n", "\r\n", " ", "- ", "1) ", "{a b} ", "{", ", ", "\u4e16", "\u2028")
    assert_linear(lambda text: restored(text, "b {} a"), tokens, ordinary="We walk\nhome in\nthe rain.\n", count=15)

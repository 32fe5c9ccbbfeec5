"""Abbreviations before numbers are read in full."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.text.base.pieces import Pieces
from server.text.protect.abbreviations import _FULL, in_full
from server.text.protect.capitals import Casing
from server.text.protect.masking import mask
from tests.growth import assert_linear


@pytest.mark.parametrize(
    ("language", "text", "read"),
    [
        ("en", "No. 5 is blue.", "Number 5 is blue."),
        ("en", "(No. 5)", "(Number 5)"),
        ("en", "See no. 5 and Nos. 6-7.", "See number 5 and numbers 6-7."),
        ("en", "No.5", "Number 5"),
        ("en", "Fig. 3, pp. 4-5, Ch. 2", "Figure 3, pages 4-5, chapter 2"),
        ("en", "p.\u00a05", "page\u00a05"),
        ("en", "Approx. 5 people came.", "Ca. 5 people came."),
        ("de", "S. 5 und Abb. 3", "Seite 5 und Abbildung 3"),
        ("de", "Siehe Nrn. 3 und 4.", "Siehe Nummern 3 und 4."),
        ("de", "Es dauert ca. 5 Minuten.", "Es dauert ca. 5 Minuten."),
        # other text
        ("en", "No. 5 people came.", "No. 5 people came."),
        ("en", "He said No. We left.", "He said No. We left."),
        ("en", "No.", "No."),
        ("en", "Modern art. 5 friends came.", "Modern art. 5 friends came."),
        ("en", "The map. 5 of us saw it.", "The map. 5 of us saw it."),
        ("en", "a@no.5", "a@no.5"),
        ("en", "S. 5", "S. 5"),
        ("de", "Das ist seine Art. Er geht.", "Das ist seine Art. Er geht."),
        ("fr", "No. 5", "No. 5"),
        ("", "No. 5", "No. 5"),
    ],
)
def test_abbreviations_before_numbers_are_words(language: str, text: str, read: str) -> None:
    assert in_full(text, language) == read


def test_a_number_may_be_behind_the_text() -> None:
    assert in_full("See No. ", "en", before_number=True) == "See number "
    assert in_full("See No. ", "en") == "See No. "
    assert in_full("No. ", "en", before_number=True, starts=False) == "number "


TOKENS = st.sampled_from(
    ["No.", "p.", "fig.", "S.", "Abb.", "approx.", "5", "7-8", " ", "word", "Art", ".", "(", "\u00e9"]
)


@given(st.sampled_from(["en", "de"]), st.lists(TOKENS, max_size=12))
def test_nothing_else_changes(language: str, tokens: list[str]) -> None:
    """Numbers and all words that are no abbreviations stay, in order; what is read is read the same again."""
    text = "".join(tokens)
    read = in_full(text, language)
    assert re.findall(r"\d+", read) == re.findall(r"\d+", text)
    assert read.count("word") == text.count("word")
    assert in_full(read, language) == read
    if not re.search(r"\.\s?\d", text):
        assert read == text


@pytest.mark.parametrize("language", sorted(_FULL))
@given(data=st.data())
def test_every_abbreviation_is_read(language: str, data: st.DataObject) -> None:
    short = data.draw(st.sampled_from(sorted(_FULL[language])))
    assert _FULL[language][short] in in_full(f"See {short}. 5", language)


def test_abbreviations_are_found_in_linear_time() -> None:
    assert_linear(lambda text: in_full(text, "en"), ("No. 5", "No.", "p. ", ".", " ", "(", "5", "a"), count=12)


@pytest.mark.parametrize(
    ("sentence", "read"),
    [
        ("See No. 5\u20137.", "See number X1."),
        ("No. {number}", "Number X1"),
        ("See pp. %d ff.", "See pages X1 ff."),
        ("No. {name} has left.", "No. X1 has left."),
    ],
)
def test_a_sentence_is_read_with_words_for_abbreviations(sentence: str, read: str, pieces: Pieces) -> None:
    english = pieces.in_language("en")
    assert mask(sentence, english.spells, casing=Casing(english)).text == read

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from server.text.split.segment import Segment
from server.text.split.sentences import split_text
from server.text.split.trimming import trim

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)
"""Every code point there is, lone surrogates included."""
SPACED = st.text(st.sampled_from("aB1. !?\n\t\x00-()e\u00a0\u3002\ud800\u200b"), max_size=60)


def sentences(text: str, language: str = "en") -> list[str]:
    return [segment.text for segment in split_text(text, language) if segment.is_sentence]


@given(text=ANY_TEXT | SPACED)
@example(text="A.\u00a0\u00a0B. C")
@example(text="\ufeffHello.\r\n\r\n  - There!  \x00\ud800 Bye\u2028")
def test_joined_segments_are_the_text(text: str) -> None:
    segments = split_text(text, "en")
    assert "".join(segment.text for segment in segments) == text
    assert all(segment.text for segment in segments)


@given(text=ANY_TEXT | SPACED)
def test_sentences_are_clean_and_gaps_hold_no_words(text: str) -> None:
    for segment in split_text(text, "en"):
        if segment.is_sentence:
            assert segment.text == segment.text.strip()
            assert any(character.isalpha() for character in segment.text)
            assert not any(character in "\r\n\t\x00\x85\u2028\ud800" for character in segment.text)
        else:
            assert not any(character.isalpha() for character in segment.text)


@given(text=SPACED)
def test_gaps_are_joined(text: str) -> None:
    segments = split_text(text, "en")
    assert not any(not a.is_sentence and not b.is_sentence for a, b in pairwise(segments))


@given(part=ANY_TEXT)
def test_trim_loses_nothing(part: str) -> None:
    assert "".join(segment.text for segment in trim(part)) == part


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello world. How are you?", ["Hello world.", "How are you?"]),
        ("One line\nanother line", ["One line", "another line"]),
        ("Dr. Smith met Mr. J. R. Jones. They spoke.", ["Dr. Smith met Mr. J. R. Jones.", "They spoke."]),
        ("1. First thing. 2. Second thing.", ["1. First thing.", "2. Second thing."]),
        ("I paid approx. 5 dollars. Fine.", ["I paid approx. 5 dollars.", "Fine."]),
        ("See No. 5 and Fig. 3. He said No. We left.", ["See No. 5 and Fig. 3.", "He said No.", "We left."]),
        ("The U.S. Army moved in. It rained.", ["The U.S. Army moved in.", "It rained."]),
        ("It costs 3.50 today. Really!", ["It costs 3.50 today.", "Really!"]),
        ("-Is that good?\n\u2013\u00dcber alles.", ["Is that good?", "\u00dcber alles."]),
        ("-x is set", ["-x is set"]),
        ("- milk\n* bread\n\u2022 tea", ["milk", "bread", "tea"]),
        ("-5 degrees", ["-5 degrees"]),
        ("---\n\U0001f600\n...", []),
        ("name\tvalue", ["name", "value"]),
        ("Name      Price   Count", ["Name", "Price", "Count"]),
        ("*** Breaking news ***", ["Breaking news"]),
        ("== A title ==", ["== A title =="]),
        ("Name: ________", ["Name:"]),
        ("What the f***", ["What the f***"]),
        ("___ ___ a ~~~", ["___ a"]),
        ("two  blanks", ["two  blanks"]),
        ("   ", []),
        ("", []),
    ],
)
def test_english(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_german_abbreviations() -> None:
    text = "Wir kaufen z.B. Brot. Er kommt ca. 5 Minuten sp\u00e4ter."
    assert sentences(text, "de") == ["Wir kaufen z.B. Brot.", "Er kommt ca. 5 Minuten sp\u00e4ter."]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Das Buch exkl. Versand, max. Anzahl 5, mind. Alter 18, entspr. Angaben.", "de"),
        ("Der engl. Text, die \u00f6sterr. Regierung und das s\u00fcdl. Afrika, einschl. Madagaskar.", "de"),
        ("Peter, geb. M\u00fcller, und die Gebr. Grimm, Abt. Verkauf.", "de"),
        ("The price incl. VAT, excl. Shipping and misc. Fees.", "en"),
        ("Call Tel. 555 1234, ext. 12, Apt. 5, Bldg. 7, on Mon. 15 or Fri. 16.", "en"),
    ],
)
def test_after_an_abbreviation_a_sentence_goes_on(text: str, language: str) -> None:
    assert sentences(text, language) == [text]


def test_before_other_words_a_sentence_may_end_as_a_number_does() -> None:
    assert sentences("We met on Sun. It rained.", "en") == ["We met on Sun.", "It rained."]


def test_gaps_between_are_exact() -> None:
    assert split_text("A boy.  Come in.\r\n\r\n\tE\x00", "en") == [
        Segment("A boy.", True),
        Segment("  ", False),
        Segment("Come in.", True),
        Segment("\r\n\r\n\t", False),
        Segment("E", True),
        Segment("\x00", False),
    ]


@pytest.mark.parametrize("unit", ["a", "a. ", "1. ", "- ", "Dr. ", "\x00a", "\u4f60\u597d\u3002", " "])
def test_long_texts_are_cut_without_loss(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    segments = split_text(text, "en")
    assert sum(len(segment.text) for segment in segments) == len(text)


def test_long_lines_are_cut_like_short_ones() -> None:
    sentence = "Der Fluss ist gr\u00fcn. "
    assert sentences(sentence * 2_000, "de") == [sentence.strip()] * 2_000


@pytest.mark.parametrize("length", range(5, 60, 7))
def test_quotations_are_whole_in_a_line_of_thousands_of_characters(length: int) -> None:
    first, quotation = "A" * length + ".", "Er sagte: \u201eKomm. Das T\u00fcrchen ist offen.\u201c"
    assert sentences(f"{first} " + f"{quotation} Sie ging. " * 70, "de") == [first, *[quotation, "Sie ging."] * 70]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("apple|apples", ["apple", "apples"]),
        ("There is one apple|There are many", ["There is one apple", "There are many"]),
        ("{0} No files|[1,19] Some files|[20,*] Many", ["{0} No files", "[1,19] Some files", "[20,*] Many"]),
        ("One file.|:count files|%d files", ["One file.", ":count files", "%d files"]),
        ("File|Edit|View", ["File", "Edit", "View"]),
        ("{{ name|upper }} is here", ["{{ name|upper }} is here"]),
        ("a || b is true", ["a || b is true"]),
        ("Answer a|b|c", ["Answer a|b|c"]),
        ("The value |x| is small", ["The value |x| is small"]),
    ],
)
def test_a_bar_between_words_is_between_texts(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts

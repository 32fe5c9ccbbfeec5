"""Where terms are found, and whether a translation says them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.text.protection import mask, restore
from server.text.terms import Match, Terms, missing

GLOSSARY = {"Ring": "Kreis", "Ring MT": "RingMT", "C++": "Zeh++", ".NET": "dotnet", "don't": "nicht"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A Ring.", [("Ring", "Kreis")]),
        ("A ring, Rings, BigRing and Ring_2", []),
        ("Ring-like, (Ring)", [("Ring", "Kreis"), ("Ring", "Kreis")]),
        ("the Ring  MT and the\nRing", [("Ring  MT", "RingMT"), ("Ring", "Kreis")]),
        ("C++, C+++ and C++x", [("C++", "Zeh++"), ("C++", "Zeh++")]),
        ("ASP.NET and .NET", [(".NET", "dotnet")]),
        ("I don't", [("don't", "nicht")]),
        ("", []),
    ],
)
def test_terms_are_found_as_they_are_spelled_between_word_boundaries(text: str, found: list[tuple[str, str]]) -> None:
    matches = Terms(GLOSSARY).find(text)
    assert [(text[one.start : one.end], one.target) for one in matches] == found


def test_what_is_taken_holds_no_term() -> None:
    text = "Ring x Ring"
    assert [one.start for one in Terms(GLOSSARY).find(text, [(0, 6)])] == [7]


@pytest.mark.parametrize("term", ["", "  "])
def test_a_term_without_words_is_refused(term: str) -> None:
    with pytest.raises(ValueError, match="at least one letter"):
        Terms({term: "x"})


@pytest.mark.parametrize(
    ("targets", "translation", "expected"),
    [
        (["Kreis", "Kreis"], "Kreis, Kreise", {"Kreis": 1}),
        (["Kreis", "Kreis MT"], "Der Kreis MT", {"Kreis": 1}),
        (["Kreis", "Kreis MT"], "Kreis Kreis MT", {}),
        (["RingMT"], "RINGMT", {"RingMT": 1}),
    ],
)
def test_no_place_counts_for_two_terms(targets: list[str], translation: str, expected: dict[str, int]) -> None:
    assert missing([Match(0, 1, target) for target in targets], translation) == expected


WORDS = ["house", "Ring", "Ring MT", "C++", "https://ring.example/Ring", "{Ring}", "RING", "\U0001f600"]


@given(words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=8), said=st.text("X12 4aß-.", max_size=30))
def test_masked_terms_come_back_whatever_is_said(words: list[str], said: str) -> None:
    sentence = " ".join(words)
    terms = Terms(GLOSSARY)
    text = restore(mask(sentence, str.isascii, terms), said).text
    for term in ("Ring", "Ring MT", "C++"):
        target = GLOSSARY[term]
        count = sum(one.target == target for one in terms.find(sentence, mask_places(sentence)))
        assert text.count(target) >= count
    for kept in ("https://ring.example/Ring", "{Ring}"):
        assert text.count(kept) == sentence.count(kept)


def mask_places(sentence: str) -> list[tuple[int, int]]:
    places, start = [], 0
    for word in sentence.split(" "):
        if word.startswith(("https", "{")):
            places.append((start, start + len(word)))
        start += len(word) + 1
    return places

"""Where terms are found, and whether a translation says them."""

import re
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.text.protect.protection import mask, restore
from server.text.protect.terms import Match, Terms, missing_terms

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
    assert [(text[match.start : match.end], match.target) for match in matches] == found


def test_what_is_taken_holds_no_term() -> None:
    text = "Ring x Ring"
    assert [match.start for match in Terms(GLOSSARY).find(text, [(0, 6)])] == [7]


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
    assert missing_terms([Match(0, 1, target) for target in targets], translation) == expected


WORDS = ["house", "Ring", "Ring MT", "C++", "https://ring.example/Ring", "{Ring}", "RING", "\U0001f600"]


@given(words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=8), output=st.text("X12 4aß-.", max_size=30))
def test_masked_terms_are_restored_for_any_output(words: list[str], output: str) -> None:
    sentence = " ".join(words)
    terms = Terms(GLOSSARY)
    text = restore(mask(sentence, str.isascii, terms), output).text
    for term in ("Ring", "Ring MT", "C++"):
        target = GLOSSARY[term]
        count = sum(match.target == target for match in terms.find(sentence, mask_places(sentence)))
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


def slow_find(targets: Mapping[str, str], text: str, taken: Sequence[tuple[int, int]]) -> list[Match]:
    """Every term tried at every place, the longest first."""
    found: list[Match] = []
    end = 0
    terms = sorted(
        ((" ".join(term.split()), target) for term, target in targets.items()), key=lambda pair: -len(pair[0])
    )
    for start in range(len(text)):
        for term, target in terms:
            words = r"\s+".join(map(re.escape, term.split()))
            match = re.compile(rf"(?<!\w){words}(?!\w)").match(text, start)
            if start >= end and match and not any(a < match.end() and start < b for a, b in taken):
                found.append(Match(start, match.end(), target))
                end = match.end()
                break
    return found


PARTS = st.sampled_from(["a", "b", "ab", "+", "-", ".", " ", "  ", "\n", "_", "\u00e9", "~", "a a", "a b"])


@given(
    terms=st.lists(st.lists(PARTS, min_size=1, max_size=5).map("".join).filter(str.strip), max_size=12),
    text=st.lists(PARTS, max_size=30).map("".join),
    places=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 6)), max_size=3),
)
def test_equals_trying_every_term_at_every_place(terms: list[str], text: str, places: list[tuple[int, int]]) -> None:
    targets = {" ".join(term.split()): f"{number}" for number, term in enumerate(terms)}
    taken = [(start, start + length) for start, length in places]
    assert Terms(targets).find(text, taken) == slow_find(targets, text, taken)


def test_spaces_in_a_term_are_any_spaces() -> None:
    assert Terms({" a \n b ": "x"}).find("a b, a\t\tb") == [Match(0, 3, "x"), Match(5, 9, "x")]

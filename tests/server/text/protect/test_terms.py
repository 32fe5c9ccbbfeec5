"""Where terms are found, and whether a translation has them."""

import re
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.text.protect.inflections import plural_of
from server.text.protect.masking import mask
from server.text.protect.restoring import restore
from server.text.protect.terms import Match, Terms, missing_terms

GLOSSARY = {"Ring": "Kreis", "Ring MT": "RingMT", "C++": "Zeh++", ".NET": "dotnet", "don't": "nicht"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A Ring.", [("Ring", "Kreis")]),
        ("A ring, BigRing and Ring_2", []),
        ("Rings and a Ring MT", [("Rings", "Kreis"), ("Ring MT", "RingMT")]),
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


INVOICES = {"invoice": "rechnung", "party": "Partei", "tax": "Steuer", "PDF": "PDF-Datei", "npm": "npm", "Ring": "Ring"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Invoice no. 5", [("Invoice", "rechnung")]),
        ("All invoices", [("invoices", "rechnung")]),
        ("INVOICES: the Parties pay taxes", [("INVOICES", "RECHNUNG"), ("Parties", "Partei"), ("taxes", "Steuer")]),
        ("PDFs, Pdf, ring and Rings", [("PDFs", "PDF-Datei")]),
        ("NPM and npm", [("NPM", "NPM"), ("npm", "npm")]),
        ("invoiced, invoicess, taxs", []),
    ],
)
def test_lower_case_terms_match_in_any_case_and_all_in_the_plural(text: str, found: list[tuple[str, str]]) -> None:
    matches = Terms(INVOICES).find(text)
    assert [(text[match.start : match.end], match.target) for match in matches] == found


def test_a_plural_that_is_a_term_itself_is_this_term() -> None:
    result = Terms({"ring": "a", "rings": "b", "Ring": "c"}).find("Rings ring Ring rings")
    assert [match.target for match in result] == ["b", "a", "c", "b"]
    assert not any(match.is_plural for match in result)


@pytest.mark.parametrize(
    ("sentence", "decoded", "expected"),
    [
        ("Invoice paid.", "{} ist da.", "Rechnung ist da."),
        ("Invoice paid.", '"{} ist da.', '"Rechnung ist da.'),
        ("Invoice paid.", "Da ist die {}.", "Da ist die rechnung."),
        ("The invoice.", "{} ist da.", "Rechnung ist da."),
        ("invoice paid", "{} da", "rechnung da"),
        ("Npm is here.", "{} ist da.", "Npm ist da."),
    ],
)
def test_a_term_has_a_capital_where_the_translation_begins(sentence: str, decoded: str, expected: str) -> None:
    terms = Terms(INVOICES)
    masked = mask(sentence, str.isascii, terms)
    text = restore(masked, decoded.format(f"{masked.stem}1")).text
    assert text == expected
    assert not missing_terms(terms.find(sentence), text)


@pytest.mark.parametrize(
    ("sentence", "translation", "missing"),
    [
        ("All invoices", "Alle rechnungen", 0),
        ("One invoice", "Eine rechnungen", 1),
        ("Invoices and an invoice", "Rechnungen und eine rechnung", 0),
        ("Invoices and an invoice", "Rechnungen und die Rechnung", 1),
        ("Parties", "Parteien", 0),
        ("Parties", "Parteiungen", 1),
    ],
)
def test_the_translation_of_a_plural_may_have_an_ending(sentence: str, translation: str, missing: int) -> None:
    assert missing_terms(Terms(INVOICES).find(sentence), translation).total() == missing


def slow_find(targets: Mapping[str, str], text: str, taken: Sequence[tuple[int, int]]) -> list[Match]:
    """Every spelling of every term tried at every place, the longest first."""
    results: list[Match] = []
    end = 0
    terms = {" ".join(term.split()): target for term, target in targets.items()}
    spellings = [(term, term, False) for term in terms]
    spellings += [(plural, term, True) for term in terms if (plural := plural_of(term)) and plural not in terms]
    spellings.sort(key=lambda spelling: (-len(spelling[0]), spelling[2], spelling[1].islower()))
    capital = next(filter(str.isalpha, text), "").isupper()
    for start in range(len(text)):
        for spelling, term, is_plural in spellings:
            words = r"\s+".join(map(re.escape, spelling.split()))
            flags = re.IGNORECASE if term.islower() else re.NOFLAG
            match = re.compile(rf"(?<!\w){words}(?!\w)", flags).match(text, start)
            if start >= end and match and not any(a < match.end() and start < b for a, b in taken):
                capitals = term.islower() and match[0].isupper() and len(match[0]) > 1
                target = terms[term].upper() if capitals else terms[term]
                rises = capital and term.islower() and target.islower()
                results.append(Match(start, match.end(), target, is_plural, rises))
                end = match.end()
                break
    return results


PARTS = st.sampled_from(
    ["a", "b", "ab", "A", "B", "aab", "S", "s", "+", "-", ".", " ", "  ", "\n", "_", "\u00e9", "a b"]
)


@given(
    terms=st.lists(st.lists(PARTS, min_size=1, max_size=5).map("".join).filter(str.strip), max_size=12),
    text=st.lists(PARTS, max_size=30).map("".join),
    places=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 6)), max_size=3),
)
def test_equals_trying_every_term_at_every_place(terms: list[str], text: str, places: list[tuple[int, int]]) -> None:
    targets = {" ".join(term.split()): f"t{number}" for number, term in enumerate(terms)}
    taken = [(start, start + length) for start, length in places]
    assert Terms(targets).find(text, taken) == slow_find(targets, text, taken)


def test_spaces_in_a_term_are_any_spaces() -> None:
    assert Terms({" a \n b ": "x"}).find("a b, a\t\tb") == [Match(0, 3, "x"), Match(5, 9, "x")]

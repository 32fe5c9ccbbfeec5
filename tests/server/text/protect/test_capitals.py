"""Capitals: the model reads words in small letters, and its translation has the capitals again."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.settings import BUNDLED_MODELS
from server.text.base.pieces import Pieces
from server.text.base.words import words_of
from server.text.protect import capitals
from server.text.protect.capitals import Casing, with_initial_of
from server.text.protect.emphasis import raise_emphasis
from server.text.protect.masking import mask
from server.text.protect.restoring import restore
from server.text.protect.terms import Terms

ENGLISH = Casing(Pieces(BUNDLED_MODELS / "en-de" / "vocabulary.model", language="en"), lowers_emphasis=True)
GERMAN = Casing(Pieces(BUNDLED_MODELS / "de-en" / "vocabulary.model", language="de"), lowers_emphasis=True)


def read(sentence: str, casing: Casing) -> str:
    return mask(sentence, lambda character: True, casing=casing).text


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("ON", "on"),
        ("EXIT", "exit"),
        ("SAVE THE FILE", "save the file"),
        ("Turn it ON.", "Turn it on."),
        ("The TENANT pays the LANDLORD.", "The tenant pays the landlord."),
        ("HEllo, hELLO", "Hello, Hello"),
        ("NASA, HTML, USB", "NASA, HTML, USB"),
        ("The US and the NATO use PDF and PCs.", "The US and the NATO use PDF and PCs."),
        ("A COVID-19 test for iPad and MAX_SIZE", None),
        ("I AM HERE", "I am here"),
    ],
)
def test_english_words_in_capitals(sentence: str, expected: str | None) -> None:
    assert expected is None or read(sentence, ENGLISH) == expected
    assert expected is not None or mask(sentence, lambda character: True, casing=ENGLISH).emphasized == ()


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("STRASSE GESPERRT", "Stra\u00dfe gesperrt"),
        ("SCHLIESSEN", "schlie\u00dfen"),
        ("ACHTUNG STUFE", "Achtung Stufe"),
        ("WASSER", "Wasser"),
        ("Bitte NICHT \u00f6ffnen.", "Bitte nicht \u00f6ffnen."),
        ("Der K\u00c4UFER bezahlt den VERK\u00c4UFER.", "Der K\u00e4ufer bezahlt den Verk\u00e4ufer."),
    ],
)
def test_german_words_in_capitals(sentence: str, expected: str) -> None:
    assert read(sentence, GERMAN) == expected


WORDS = ("nicht", "NICHT", "Stra\u00dfe", "STRASSE", "IMMER", "NASA", "{name}", "K\u00c4UFER", "a", "5", ",", "\u1e9e")


ODD_WORDS = ("ON", "HEllo", "hELLO", "Hello", "it", "I", "USB-Stick", "o'Clock", "TÜR", "FÜR", "STRASSE", "a1B")


@given(st.lists(st.sampled_from(ODD_WORDS) | st.text("aAbB1_'-. \u00e9\u00c9", max_size=6)).map(" ".join))
def test_the_look_for_capitals_changes_no_text(text: str) -> None:
    changed = [casing.with_words_lowered(text) for casing in (ENGLISH, GERMAN)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capitals, "_TWO_CAPITALS", re.compile(""))
        assert [casing.with_words_lowered(text) for casing in (ENGLISH, GERMAN)] == changed


@settings(max_examples=60)
@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join))
def test_a_model_that_copies_gives_capitals_back(sentence: str) -> None:
    masked = mask(sentence, lambda character: True, casing=GERMAN)
    copied = restore(masked, masked.text).text
    pairs = [
        ((word.start, word.end), (copy.start, copy.end))
        for word, copy in zip(words_of(sentence), words_of(copied), strict=True)
    ]
    raised, moved, is_whole = raise_emphasis(sentence, masked.emphasized, copied, pairs)
    assert is_whole
    assert raised == sentence
    assert [sentence[slice(*before)] for before, _ in moved] == [raised[slice(*after)] for _, after in moved]


def test_terms_in_capitals_keep_their_translations() -> None:
    terms = Terms({"K\u00c4UFER": "BUYER"})
    masked = mask("Der K\u00c4UFER zahlt NICHT.", lambda character: True, terms, GERMAN)
    assert (masked.text, masked.emphasized) == ("Der X1 zahlt nicht.", ((17, 22),))


def test_words_that_become_one_are_reported() -> None:
    source, target = "The BUYER and the SELLER", "der Mann und der Mann"
    places = ((4, 9), (18, 24))
    same = raise_emphasis(source, places, target, [(places[0], (4, 8)), (places[1], (17, 21))])
    assert same[::2] == ("der MANN und der MANN", False)
    assert raise_emphasis(source, places, target, [(places[0], (4, 8))])[2] is False


def test_a_sharp_s_is_raised_to_two_letters() -> None:
    raised, pairs, _ = raise_emphasis("a BIG dog", ((2, 5),), "gro\u00dfer Hund", [((2, 5), (0, 6)), ((6, 9), (7, 11))])
    assert (raised, pairs[1][1]) == ("GROSSER Hund", (8, 12))


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("Stuhl", "chair", "Chair"),
        ("\u201eStuhl\u201c", "\u201cchair\u201d", "\u201cChair\u201d"),
        ("(Aus Holz)", "(from wood)", "(From wood)"),
        ("\u00dcber uns", "about us", "About us"),
        ("stuhl", "chair", "chair"),
        ("3 St\u00fchle", "3 chairs", "3 chairs"),
        ("St\u00fchle", "3 chairs", "3 chairs"),
        ("Telefone", "iPhone", "iPhone"),
        ("Wert", "x86 value", "x86 value"),
        ("Abends", "'s avonds", "'s avonds"),
        ("\u6905\u5b50", "chair", "chair"),
        ("Stuhl", "\u6905\u5b50", "\u6905\u5b50"),
        ("Stuhl", "", ""),
        ("Stuhl", "\u0131s", "\u0131s"),
    ],
)
def test_a_translation_begins_with_a_capital_where_its_source_does(source: str, target: str, expected: str) -> None:
    assert with_initial_of(source, target) == expected


@given(st.text(max_size=20), st.text(max_size=20))
def test_nothing_but_the_initial_changes(source: str, target: str) -> None:
    raised = with_initial_of(source, target)
    assert raised.lower() == target.lower()
    assert len(raised) == len(target)
    assert with_initial_of(source, source) == source
    assert with_initial_of(source, raised) == raised


@given(st.sampled_from(["Stuhl", "stuhl"]), st.text("aB \u00e9.3'", max_size=12), st.integers(0, 12))
def test_what_is_shown_of_a_translation_stays(source: str, target: str, at: int) -> None:
    shown = with_initial_of(source, target[:at], is_whole=False)
    assert with_initial_of(source, target).startswith(shown)
    assert len(shown) in (0, len(target[:at]))

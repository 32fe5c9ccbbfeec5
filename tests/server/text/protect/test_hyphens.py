"""A model invents no hyphens: they are those of the source, or of a compound with a word."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.text.protect.masking import mask
from server.text.protect.restoring import restore
from server.text.protect.terms import Terms
from tests.server.text.protect.test_protection import spells_ascii


def test_tags_make_no_compounds() -> None:
    bold, end = "\U000f0000", "\U000f4000"
    masked = mask(f"My {bold}big{end} book", spells_ascii)
    assert restore(masked, "X1-Gro\u00df X2-Buch").text == f"{bold}Gro\u00df{end} Buch"


@pytest.mark.parametrize(
    ("sentence", "target", "restored"),
    [
        ("{count} files", "X1-Dateien", "{count} Dateien"),
        ("____ Date", "X1-Datum", "____ Datum"),
        ("My {a} book", "Mein X1-Buch", "Mein {a} Buch"),
        ("The {a} and {b} files", "Die X1- und X2-Dateien", "Die {a} und {b} Dateien"),
        ("\U0001f1e9\U0001f1ea bread", "X1-Brot", "\U0001f1e9\U0001f1ea Brot"),
        ("bread\U0001f600 rises", "Brot-X1 geht", "Brot\U0001f600 geht"),
        ("Open file {name}", "Datei-X1 \u00f6ffnen", "Datei {name} \u00f6ffnen"),
        ("{a} {b} files", "X1-X2-Dateien", "{a} {b} Dateien"),
        ("A {count}-page book", "Ein X1-seitiges Buch", "Ein {count}-seitiges Buch"),
        ("Pages {a} to {b}", "Seiten X1-X2", "Seiten {a}-{b}"),
        ("Pages {a}\u2013{b}", "Seiten X1-X2", "Seiten {a}-{b}"),
        ("A FOO_BAR value", "Ein X1-Wert", "Ein FOO_BAR-Wert"),
        ("Run {a} now", "X1 -- jetzt", "{a} -- jetzt"),
    ],
)
def test_a_model_invents_no_hyphens_beside_spans(sentence: str, target: str, restored: str) -> None:
    assert restore(mask(sentence, spells_ascii), target).text == restored


@pytest.mark.parametrize(
    ("sentence", "target", "restored"),
    [
        ("Cook for 20-25 minutes.", "20-25- Minuten kochen.", "20-25 Minuten kochen."),
        ("Press 3-4 keys.", "3-4-Tasten.", "3-4 Tasten."),
        ("Press 3 keys.", "3-Tasten.", "3 Tasten."),
        ("Children of 3-4 years", "3-4-J\u00e4hrige", "3-4-J\u00e4hrige"),
        ("A 3-4 day trip", "Eine 3-4-Tage-Reise", "Eine 3-4-Tage-Reise"),
        ("A 2 weeks holiday", "Ein 2-Wochen-Urlaub", "Ein 2-Wochen-Urlaub"),
        ("A 10-year plan", "Ein 10-Jahresplan", "Ein 10-Jahresplan"),
        ("From 20-25- to 30-year-olds", "20-25- bis 30", "20-25- bis 30"),
        ("20-25 or 30-35 minutes", "20-25- oder 30-35-Minuten", "20-25- oder 30-35 Minuten"),
    ],
)
def test_a_model_invents_no_hyphens_behind_numbers(sentence: str, target: str, restored: str) -> None:
    assert restore(mask(sentence, spells_ascii), target).text == restored


def test_a_term_may_be_part_of_a_compound() -> None:
    masked = mask("A world map", spells_ascii, Terms({"world": "Welt"}))
    assert restore(masked, "Eine X1-Karte").text == "Eine Welt-Karte"


NO_WORDS = st.sampled_from(["{name}", "%s", "https://a.org/b", "<b>", "\U0001f600", "`ls`", "${HOME}"])


@given(st.lists(st.tuples(NO_WORDS, st.sampled_from([" ", "-", " - "])), min_size=1, max_size=5), st.data())
def test_hyphens_beside_spans_are_those_of_the_source(parts: list[tuple[str, str]], data: st.DataObject) -> None:
    """The model joins everything that a blank separates. A span with a hyphen may get it on its other side, too."""
    after_words = [", "] if any("-" in between for _, between in parts) else [", ", " "]
    sentence = "".join(f"{span}{between}word{data.draw(st.sampled_from(after_words))}" for span, between in parts)
    masked = mask(sentence, spells_ascii)
    hyphened = re.sub(rf"({masked.stem}\d+) (?=\w)|(?<=\w) (?={masked.stem}\d)", r"\1-", masked.text)
    assert restore(masked, masked.text).text == sentence
    assert restore(masked, hyphened).text == sentence

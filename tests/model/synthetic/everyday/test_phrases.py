"""Phrases, in the ways they are typed."""

from pathlib import Path

import pytest

from model.config import ConfigError
from model.synthetic.everyday.command import HERE
from model.synthetic.everyday.phrases import Phrase, as_typed, from_english, from_german, read_phrases

OWN = read_phrases(HERE / "phrases.tsv")


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (
            "Happy birthday!",
            "Alles Gute!",
            {"Happy birthday!": "Alles Gute!"}
            | dict.fromkeys(("Happy birthday", "happy birthday", "Happy Birthday"), "Alles Gute"),
        ),
        ("May", "Mai", {"May": "Mai"}),
        ("Loading...", "Wird geladen ...", {"Loading...": "Wird geladen ..."}),
        (
            "Do you want to save it?",
            "Speichern?",
            {"Do you want to save it?": "Speichern?"}
            | dict.fromkeys(("Do you want to save it", "do you want to save it"), "Speichern"),
        ),
    ],
)
def test_as_typed(source: str, target: str, expected: dict[str, str]) -> None:
    assert dict(as_typed(source, target)) == expected


def test_german_has_no_headlines_in_capitals() -> None:
    assert {"Bis dann!", "Bis dann", "bis dann"} == set(dict(from_german([Phrase(("See you!",), ("Bis dann!",))])))


def test_every_form_is_a_source_and_the_first_is_the_translation() -> None:
    phrases = [
        Phrase(("Hello!", "Hi!"), ("Hallo!", "Servus!")),
        Phrase(("Hi!",), ("Na?",)),
        Phrase(("Good day!",), ("Hallo!",)),
    ]
    assert [pair for pair in from_english(phrases) if "!" in pair[0]] == [
        ("Hello!", "Hallo!"), ("Hi!", "Hallo!"), ("Good day!", "Hallo!"),
    ]  # fmt: skip
    assert [pair for pair in from_german(phrases) if "!" in pair[0]] == [("Hallo!", "Hello!"), ("Servus!", "Hello!")]


@pytest.mark.parametrize("made", [from_english(OWN), from_german(OWN)], ids=["en", "de"])
def test_no_source_has_two_translations(made: list[tuple[str, str]]) -> None:
    sources = [source for source, _ in made]
    assert len(sources) == len(set(sources)) > 2000


def test_phrases_have_no_stray_characters() -> None:
    texts = [text for phrase in OWN for text in (*phrase.english, *phrase.german)]
    assert [text for text in texts if text != " ".join(text.split())] == []


@pytest.mark.parametrize("line", ["Hello!", "Hello!\t", "Hello!|\tHallo!", "\tHallo!", "Hello!\tHallo!|"])
def test_a_line_that_is_no_phrase_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "phrases.tsv"
    path.write_text(f"# Greetings\nBye!\tTschüss!\n{line}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="line 3: a phrase is English forms between bars, a tab and German"):
        read_phrases(path)

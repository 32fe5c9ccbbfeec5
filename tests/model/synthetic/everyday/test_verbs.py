"""What people do with things: tenses, voices, separable prefixes."""

from pathlib import Path

import pytest

from model.config import ConfigError
from model.synthetic.everyday.command import HERE
from model.synthetic.everyday.frames import FRAMES
from model.synthetic.everyday.things import read_sentences, read_things, things_in_sentences
from model.synthetic.everyday.verbs import Verb, read_verbs, verb_sentences

THINGS, VERBS = read_things(HERE / "things.tsv"), read_verbs(HERE / "verbs.tsv")


@pytest.fixture(scope="module")
def pairs() -> list[tuple[str, str]]:
    """All sentences."""
    return list(verb_sentences(VERBS, THINGS, 10_000, 1))


@pytest.fixture(scope="module")
def german_of(pairs: list[tuple[str, str]]) -> dict[str, str]:
    return dict(pairs)


@pytest.mark.parametrize(
    ("english", "german"),
    [
        ("I have to repair the stairs.", "Ich muss die Treppe reparieren."),
        ("Can you switch off the oven?", "Kannst du den Ofen ausschalten?"),
        ("Who stole the bike?", "Wer hat das Fahrrad gestohlen?"),
        ("He lost the keys yesterday.", "Er hat gestern die Schlüssel verloren."),
        ("She has already signed the contract.", "Sie hat den Vertrag schon unterschrieben."),
        ("Have you watered the flowers?", "Haben Sie die Blumen gegossen?"),
        ("We have not paid the rent yet.", "Wir haben die Miete noch nicht bezahlt."),
        ("The screws must be tightened.", "Die Schrauben müssen festgezogen werden."),
        ("The wedding was postponed yesterday.", "Die Hochzeit wurde gestern verschoben."),
        ("The trousers have been ironed.", "Die Hose wurde gebügelt."),
        ("The documents have been submitted.", "Die Unterlagen wurden eingereicht."),
        ("Please print the invoice.", "Bitte drucken Sie die Rechnung aus."),
        ("Please read the report.", "Bitte lesen Sie den Bericht."),
        ("Do not throw away the receipt.", "Werfen Sie die Quittung nicht weg."),
        ("She is going to fry the fish tomorrow.", "Sie wird morgen den Fisch braten."),
        ("It is not easy to clean the filter.", "Es ist nicht leicht, den Filter zu reinigen."),
        ("It is not easy to tidy up the cellar.", "Es ist nicht leicht, den Keller aufzuräumen."),
        ("If he throws away the list, I will help.", "Wenn er die Liste wegwirft, helfe ich."),
        ("If he catches the bird, I will help.", "Wenn er den Vogel fängt, helfe ich."),
        ("If he copies the plan, I will help.", "Wenn er den Plan kopiert, helfe ich."),
        ("If he pays the fine, I will help.", "Wenn er die Geldstrafe bezahlt, helfe ich."),
    ],
)
def test_in_sentences(german_of: dict[str, str], english: str, german: str) -> None:
    assert german_of[english] == german


def test_an_english_sentence_has_one_translation(pairs: list[tuple[str, str]]) -> None:
    made = {*pairs, *things_in_sentences(THINGS, read_sentences(HERE / "sentences.tsv"))}
    several = sorted(made - set(dict(sorted(made)).items()))
    assert not several[:5]
    assert len(made) > 80_000
    assert not any(mark in text for pair in pairs for text in pair for mark in "{}[]|")


def test_every_verb_is_in_every_frame_with_the_requested_number_of_things(pairs: list[tuple[str, str]]) -> None:
    assert len(list(verb_sentences(VERBS, THINGS, 2, 1))) == 2 * len(VERBS) * len(FRAMES["verbs"])
    some = list(verb_sentences(VERBS, THINGS, 2, 1))
    assert some == list(verb_sentences(VERBS, THINGS, 2, 1))
    assert some != list(verb_sentences(VERBS, THINGS, 2, 2))
    assert not set(some) - set(pairs)


@pytest.mark.parametrize("line", ["cut\tcut\tcut\tcut\tschneiden\tschneidet", "cut\tcut\t\tcut\ta\tb\tc", "cut"])
def test_a_line_that_is_no_verb_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "verbs.tsv"
    path.write_text(f"# verbs\ndevice\tturn on\tturned on\tturned on\tein|schalten\tschaltet\teingeschaltet\n{line}\n")
    with pytest.raises(ConfigError, match=r"verbs.tsv, line 3: a verb is its kinds of things, three English forms and"):
        read_verbs(path)


def test_a_line_that_is_a_verb(tmp_path: Path) -> None:
    path = tmp_path / "verbs.tsv"
    path.write_text("device,lamp\tturn on\tturned on\tturned on\tein|schalten\tschaltet\teingeschaltet\n")
    kinds = frozenset({"device", "lamp"})
    assert read_verbs(path) == [
        Verb(kinds, "turn on", "turned on", "turned on", "ein", "schalten", "schaltet", "eingeschaltet")
    ]

"""Adjectives in the place of others: the ending stays, nothing else changes."""

import pytest

from model.synthetic.context.german import inflected
from model.synthetic.words.adjectives import adjective_frames, adjectives_in_sentences, used_adjectives
from model.synthetic.words.translations import Translation
from tests.model.synthetic.words.some import pairs

OLD, DARK, ANGRY = Translation("old", "alt", 9), Translation("dark", "dunkel", 3), Translation("angry", "böse", 2)
ADJECTIVES = [OLD, DARK, ANGRY]


@pytest.mark.parametrize(
    ("adjective", "ending", "form"),
    [("alt", "e", "alte"), ("alt", "", "alt"), ("böse", "en", "bösen"), ("dunkel", "er", "dunkler"),
     ("teuer", "es", "teures"), ("sauer", "em", "saurem"), ("sauber", "e", "saubere"), ("hoch", "e", "hohe")],
)  # fmt: skip
def test_inflected(adjective: str, ending: str, form: str) -> None:
    assert inflected(adjective, ending) == form


def test_another_adjective_takes_the_ending() -> None:
    text = pairs(
        ("I saw an old house.", "Ich sah ein altes Haus."),
        ("His old dog sleeps.", "Sein alter Hund schläft."),
        ("The dog is very old, I think.", "Der Hund ist sehr alt, glaube ich."),
    )
    frames = adjective_frames(text, ADJECTIVES)
    assert [frame.filled("dark", inflected("dunkel", frame.kind)) for frame in frames] == [
        ("I saw a dark house.", "Ich sah ein dunkles Haus."),
        ("His dark dog sleeps.", "Sein dunkler Hund schläft."),
        ("The dog is very dark, I think.", "Der Hund ist sehr dunkel, glaube ich."),
    ]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("The old and the dark house.", "Das alte und das dunkle Haus."),
        ("The old one sleeps.", "Der alte schläft."),
        ("He looks old.", "Er sieht alt aus."),
        ("It is old.", "Es ist betagt."),
        ("A dark-eyed man.", "Ein dunkler Mann."),
        ("The dark house " + "very " * 13, "Das dunkle Haus."),
    ],
)
def test_sentences_that_are_no_frame(source: str, target: str) -> None:
    assert adjective_frames(pairs((source, target)), ADJECTIVES) == []


TERMS = pairs(
    ("old", "alt"), ("old man", "alter Mann"), ("old woman", "alte Frau"), ("old", "greis"),
    ("plane", "eben"), ("plane surface", "ebene Fläche"), ("plane mirror", "ebener Spiegel"),
    ("probable", "wahrscheinlich"), ("probably", "wahrscheinlich"), ("probable cause", "wahrscheinlicher Grund"),
    ("probable error", "wahrscheinliche Abweichung"), ("see", "sieh"),
)  # fmt: skip


def test_adjectives_are_words_in_positions_of_adjectives() -> None:
    text = pairs(
        *[("An old man.", "Ein alter Mann."), ("He is old.", "Er ist alt.")],
        *[("The plane landed.", "Das Flugzeug landete."), ("The plane came.", "Das Flugzeug kam.")] * 15,
        *[("The probable cause is known.", "Der wahrscheinliche Grund ist bekannt."), ("It is probable.", "Ja.")],
        *[("He is probably.", "Er ist wohl."), ("It was probably.", "Es war wohl.")],
        *[("They see.", "Sie sehen.")] * 3,
    )
    assert [(adjective.source, adjective.target) for adjective in used_adjectives(text, TERMS)] == [
        ("old", "alt"), ("probable", "wahrscheinlich"),
    ]  # fmt: skip


def test_every_adjective_alone_and_in_so_many_sentences() -> None:
    frames = adjective_frames(pairs(("An old man.", "Ein alter Mann."), ("An old cow.", "Eine alte Kuh.")), ADJECTIVES)
    assert set(adjectives_in_sentences(frames, [DARK], 5, seed=1)) == {
        ("A dark man.", "Ein dunkler Mann."), ("A dark cow.", "Eine dunkle Kuh."), ("dark", "dunkel"),
    }  # fmt: skip
    made = list(adjectives_in_sentences(frames, ADJECTIVES, 1, seed=1))
    assert len(made) == 6
    assert made == list(adjectives_in_sentences(frames, ADJECTIVES, 1, seed=1))
    assert any(made != list(adjectives_in_sentences(frames, ADJECTIVES, 1, seed)) for seed in range(2, 9))

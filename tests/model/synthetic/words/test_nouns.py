"""Nouns in the place of others: agreement stays, nothing else changes."""

import pytest

from model.synthetic.context.nouns import Noun
from model.synthetic.words.nouns import noun_frames, nouns_in_sentences
from tests.model.synthetic.words.some import pairs

LAMP, CUP, CHAIR = Noun("lamp", "Lampe", "f", 9), Noun("cup", "Tasse", "f", 5), Noun("chair", "Stuhl", "m", 4)
APPLE, LION = Noun("apple", "Apfel", "m", 3), Noun("lion", "Löwe", "m", 2)
NOUNS = [LAMP, CUP, CHAIR, APPLE, LION]


def test_only_the_noun_and_its_english_article_change() -> None:
    [lamp, chair] = noun_frames(
        pairs(("The old lamp is mine.", "Die alte Lampe gehört mir."), ("I see a chair.", "Ich sehe einen Stuhl.")),
        NOUNS,
    )
    assert lamp.filled("cup", "Tasse") == ("The old cup is mine.", "Die alte Tasse gehört mir.")
    assert chair.filled("apple", "Apfel") == ("I see an apple.", "Ich sehe einen Apfel.")


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Lamps are expensive.", "Lampen sind teuer."),
        ("The lamp and the cup.", "Die Lampe und die Tasse."),
        ("A lamp, another lamp.", "Eine Lampe, noch eine."),
        ("Tom sees lamp.", "Tom sieht Lampe."),
        ("The lamp-shade is new.", "Die Lampe ist neu."),
        ("The lion sleeps.", "Der Löwe schläft."),
        ("The lamp " + "very " * 15 + "old.", "Die Lampe ist alt."),
    ],
)
def test_sentences_that_are_no_frame(source: str, target: str) -> None:
    assert noun_frames(pairs((source, target)), NOUNS) == []


def test_a_noun_goes_into_sentences_of_its_gender_only() -> None:
    frames = noun_frames(
        pairs(("The lamp is new.", "Die Lampe ist neu."), ("I broke the cup.", "Ich zerbrach die Tasse."),
              ("My chair is old.", "Mein Stuhl ist alt.")), NOUNS,
    )  # fmt: skip
    made = list(nouns_in_sentences(frames, [CUP, APPLE, LION], 5, seed=1))
    assert set(made) == {
        ("The cup is new.", "Die Tasse ist neu."), ("I broke the cup.", "Ich zerbrach die Tasse."),
        ("the cup", "die Tasse"), ("cup", "Tasse"),
        ("My apple is old.", "Mein Apfel ist alt."), ("the apple", "der Apfel"), ("apple", "Apfel"),
    }  # fmt: skip

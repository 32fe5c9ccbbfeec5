"""Made sentences with a slot for a noun, for nouns that are rare in real pairs: "I sold the NOUN. It was ADJ."

In the German frames, `der1 den4 dem3` and `ein1 einen4 einem3` are determiners in their case (1 nominative, 3 dative,
4 accusative), `er` and `ihn` pronouns in the gender of the noun.
"""

import functools
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from model.synthetic.context.german import GENDERS, PRONOUNS, Gender, determiner
from model.synthetic.context.it import AmbiguousSentence
from model.synthetic.context.nouns import Noun
from model.synthetic.context.words import capitalized
from model.synthetic.tables import Text, read_sections, texts

FRAMES = read_sections(Path(__file__).with_name("frames.tsv"))
ADJECTIVES, BEFORE = texts(FRAMES["adjectives"]), texts(FRAMES["before"])


def slots(noun: Noun, adjective: Text) -> dict[str, str]:
    """Slot -> its text in a frame."""
    article = "an" if noun.source[0] in "aeiou" else "a"
    filled = {"e": noun.source, "a": f"{article} {noun.source}", "N": noun.target}
    filled |= {"adjective": adjective[0], "adjektiv": adjective[1]}
    return {**filled, **determiners(noun.gender), **pronouns(noun.gender)}


@functools.cache
def determiners(gender: Gender) -> Mapping[str, str]:
    """Slot -> its text, of the slots that depend on the gender alone."""
    filled: dict[str, str] = {}
    for stem in ("der", "ein", "mein", "dein", "dies", "unser"):
        for number, ending, case in (("1", "", "nominative"), ("3", "em", "dative"), ("4", "en", "accusative")):
            key = {"der1": "der1", "der3": "dem3", "der4": "den4"}.get(stem + number, stem + ending + number)
            filled[key] = determiner(stem, gender, case)  # type: ignore[arg-type]  # the cases above
    filled["n4"] = determiner("sein", gender, "accusative").removeprefix("sein").removeprefix("e")
    filled["Der1"] = capitalized(filled["der1"])
    return filled


@functools.cache
def pronouns(gender: Gender) -> Mapping[str, str]:
    forms = {"er": PRONOUNS["nominative"][gender], "ihn": PRONOUNS["accusative"][gender]}
    return forms | {"Er": capitalized(forms["er"])}


def fill(frame: Text, values: Mapping[str, str]) -> Text:
    return frame[0].format(**values), frame[1].format(**values)


def noun_frame(noun: Noun, numbers: random.Random) -> Text:
    """A sentence with the noun."""
    return fill(numbers.choice(BEFORE), slots(noun, numbers.choice(ADJECTIVES)))


def it_frame(numbers: random.Random, frames: Sequence[Text], kind: str = "frame") -> AmbiguousSentence:
    """A sentence with "it"."""
    source, target = numbers.choice(frames)
    adjective, adjektiv = numbers.choice(ADJECTIVES)
    words = {"adjective": adjective, "adjektiv": adjektiv}
    targets = {gender: target.format(**words, **pronouns(gender)) for gender in GENDERS}
    return AmbiguousSentence(source.format(**words), targets, kind)

"""Phrases of user interfaces: "Delete file" is "Datei löschen", "Could not open the file." is "Die Datei konnte nicht
geöffnet werden."."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from model.config import ConfigError
from model.synthetic.context.german import GENDERS, Gender, determiner
from model.synthetic.context.words import capitalized
from model.synthetic.everyday.frames import FRAMES
from model.synthetic.tables import numbered_lines, texts
from model.synthetic.words.phrases import ENDINGS

ADJECTIVES = dict(texts(FRAMES["adjectives"]))
SEPARABLE = ("aus", "an", "hinzu", "hoch", "herunter", "um", "wieder", "ein", "ab")
"""Separable prefixes, between which and the verb stands "zu": "herunterladen" is "herunterzuladen"."""


@dataclass(frozen=True)
class Noun:
    english: str
    plural: str
    german: str
    gender: Gender
    german_plural: str


@dataclass(frozen=True)
class Verb:
    english: str
    participle: str
    german: str
    german_participle: str

    @property
    def with_zu(self) -> str:
        """ "zu" and the infinitive. The participle shows what is separable: "hochgeladen", but "überprüft"."""
        for part in SEPARABLE:
            if self.german.startswith(part) and self.german_participle.startswith(f"{part}ge"):
                return f"{part}zu{self.german.removeprefix(part)}"
        return f"zu {self.german}"


def read_words(path: Path) -> tuple[list[Noun], list[Verb]]:
    """A line each, with tabs between: noun, singular, plural, German, gender, German plural; or verb, infinitive,
    participle, German, German participle. # begins a comment. Raises ConfigError with the line."""
    nouns, verbs = [], []
    for number, line in numbered_lines(path):
        kind, *given = line.split("\t")
        if kind == "noun" and len(given) == 5 and given[3] in GENDERS:
            nouns.append(Noun(given[0], given[1], given[2], given[3], given[4]))
        elif kind == "verb" and len(given) == 4:
            verbs.append(Verb(*given))
        else:
            raise ConfigError(
                f"{path}, line {number}: expected noun, singular, plural, German, m, f or n, German plural; or verb, "
                "infinitive, participle, German, German participle"
            )
    return nouns, verbs


def interface_phrases(
    nouns: Sequence[Noun], verbs: Sequence[Verb], amount: int, seed: int
) -> Iterator[tuple[str, str]]:
    """(English, German): `amount` phrases of every frame, with words drawn at random."""
    rng = random.Random(seed)
    for english, german in texts(FRAMES["interfaces"]):
        for _ in range(amount):
            words = _words(rng.choice(nouns), rng.choice(verbs), rng.choice(tuple(ADJECTIVES)), rng.randrange(2, 100))
            yield _with_article(capitalized(english.format(**words))), capitalized(german.format(**words))


def _words(noun: Noun, verb: Verb, adjective: str, count: int) -> dict[str, str]:
    def german(stem: str, case: str) -> str:
        return determiner(stem, noun.gender, "accusative" if case == "object" else "nominative")

    return {
        "noun": noun.english, "nouns": noun.plural, "noun_de": noun.german, "nouns_de": noun.german_plural,
        "verb": verb.english, "done": verb.participle, "verb_de": verb.german, "done_de": verb.german_participle,
        "zu_verb_de": verb.with_zu, "adjective": adjective, "count": str(count),
        "adjective_de": ADJECTIVES[adjective] + ENDINGS[noun.gender],
        "the_de": german("der", "subject"), "the_object_de": german("der", "object"),
        "this_de": german("dies", "object"), "this_subject_de": german("dies", "subject"),
        "a_object_de": german("ein", "object"),
    }  # fmt: skip


def _with_article(text: str) -> str:
    return " ".join(
        "an" if word == "a" and following[:1] in "aeio" else word
        for word, following in zip(text.split(), [*text.split()[1:], ""], strict=True)
    )

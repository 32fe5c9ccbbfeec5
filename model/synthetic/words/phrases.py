"""Phrases without an article, as in interfaces and headings: "Open file" is "Datei öffnen", "New page" is "Neue
Seite"."""

import random
from collections.abc import Iterator, Mapping, Sequence

from model.synthetic.context.german import Gender, inflected
from model.synthetic.context.nouns import Noun
from model.synthetic.context.words import capitalized
from model.synthetic.words.nouns import keeps_its_form
from model.synthetic.words.translations import Translation

ENDINGS: Mapping[Gender, str] = {"m": "er", "f": "e", "n": "es"}
"""Of an adjective that stands in front of a noun alone, in the nominative."""
DRAWN = 2
"""Phrases of each kind for every noun."""


def phrases(
    nouns: Sequence[Noun], adjectives: Sequence[Translation], verbs: Sequence[Translation], seed: int
) -> Iterator[tuple[str, str]]:
    """Every noun behind adjectives, and as the object of `verbs`; sampled by
    frequency."""
    for noun in nouns:
        rng = random.Random(f"{seed}/{noun.source}/{noun.target}")
        for word in _drawn(adjectives, rng):
            german = inflected(word.target, ENDINGS[noun.gender])
            yield f"{capitalized(word.source)} {noun.source}", f"{capitalized(german)} {noun.target}"
        if keeps_its_form(noun):
            for word in _drawn(verbs, rng):
                yield f"{capitalized(word.source)} {noun.source}", f"{noun.target} {word.target}"


def _drawn(words: Sequence[Translation], rng: random.Random) -> list[Translation]:
    """Some words; the root of their uses, so that the most common do not take it all."""
    return rng.choices(words, [(word.uses + 1) ** 0.5 for word in words], k=DRAWN) if words else []

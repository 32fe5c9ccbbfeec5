"""Nouns that people use, with their translations: those of the text, and from a dictionary those that the text has on
one side only."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from model.data.context.english import DETERMINERS, FUNCTION
from model.data.context.genders import Lexicon, genders_in_text
from model.data.context.nouns import Noun, things_in_text
from model.data.context.words import flat, split
from model.data.corpus import SentencePair

MIN_USES = 2
"""Times that a noun stands behind a determiner in the text."""


def used_nouns(pairs: Sequence[SentencePair], lexicon: Lexicon) -> list[Noun]:
    """The most frequent first. A noun of the dictionary gets the translation that the text uses most, then the one
    that has it as its first meaning, then the shortest."""
    genders = {**genders_in_text(pair.target for pair in pairs), **{noun: entry[0] for noun, entry in lexicon.items()}}
    found = things_in_text(pairs, genders, lexicon)
    uses, said = Counter[str](), Counter[str]()
    for pair in pairs:
        words = flat(pair.source)
        uses.update(after for before, after in pairwise(words) if before in DETERMINERS)
        said.update(word.core for word in split(pair.target))
    known = {noun.source for noun in found}
    meanings: dict[str, list[tuple[int, int, int, str]]] = {}
    for noun, (_, glosses) in lexicon.items():
        for place, gloss in enumerate(glosses):
            if gloss.isalpha() and gloss.islower() and uses[gloss] >= MIN_USES and gloss not in known | FUNCTION:
                meanings.setdefault(gloss, []).append((-said[noun], place, len(noun), noun))
    others = [
        Noun(source, (best := min(candidates)[3]), lexicon[best][0], uses[source])
        for source, candidates in meanings.items()
    ]
    return sorted([*found, *others], key=lambda noun: (-uses[noun.source], noun.source, noun.target))

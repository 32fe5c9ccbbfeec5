"""Things that "it" can refer to: an English noun, its German translation, the German gender."""

import hashlib
import itertools
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from model.data.corpus import SentencePair
from model.synthetic.context.english import DETERMINERS, FUNCTION, NO_THINGS, PERSONS
from model.synthetic.context.genders import Lexicon
from model.synthetic.context.german import Gender
from model.synthetic.context.words import flat, split

MIN_DICE, MIN_SHARE, MIN_PAIRS = 0.22, 0.3, 3
DEV_SHARE = 10
"""One in this many nouns, professions and sentences is kept for dev."""
ABSTRACT = ("heit", "keit", "ung", "tion", "ität", "ismus", "schaft", "ieren", "nis", "enz", "anz", "logie", "sicht")


@dataclass(frozen=True)
class Noun:
    source: str
    target: str
    gender: Gender
    count: int
    """Pairs that have both sides."""

    @property
    def is_concrete(self) -> bool:
        """Whether it is a physical object: its ending is not that of a quality or an action."""
        return not self.target.endswith(ABSTRACT)

    @property
    def is_dev(self) -> bool:
        return for_dev(self.target)


def for_dev(text: str) -> bool:
    """True for one text in DEV_SHARE, decided by a hash, so that it is the same for every seed and corpus."""
    return hashlib.sha256(text.encode()).digest()[0] % DEV_SHARE == 0


def is_person(source: str, target: str, genders: Mapping[str, Gender]) -> bool:
    has_feminine = genders.get(target + "in") == "f" or genders.get(target.removesuffix("e") + "in") == "f"
    is_feminine = target.endswith("in") and genders.get(target) == "f" and target.removesuffix("in") in genders
    return source in PERSONS or has_feminine or is_feminine


def is_plural(word: str) -> bool:
    """Whether an English noun looks like a plural."""
    return word.endswith("s") and not word.endswith(("ss", "us", "is"))


def things_in_text(pairs: Sequence[SentencePair], genders: Mapping[str, Gender], lexicon: Lexicon) -> list[Noun]:
    """Noun pairs by how often they stand in the same sentence pairs (Dice), or by the lexicon's translations where
    those stand together at all; persons, times and words with several translations of different gender left out.
    The most frequent come first."""
    in_source, in_target = Counter[str](), Counter[str]()
    as_noun, together = Counter[str](), defaultdict[str, Counter[str]](Counter)
    for pair in pairs:
        source = flat(pair.source)
        as_noun.update(after for before, after in itertools.pairwise(source) if before in DETERMINERS)
        words = {word for word in source if word.isalpha() and word not in FUNCTION and len(word) > 2}
        nouns = {word.core for word in split(pair.target) if word.core in genders}
        in_source.update(words)
        in_target.update(nouns)
        for noun in nouns:
            together[noun].update(words)
    candidates: dict[str, list[Noun]] = defaultdict(list)
    for noun, row in together.items():
        glosses = lexicon[noun][1] if noun in lexicon else ()
        best = max(row, key=lambda word: (2 * row[word] / (in_source[word] + in_target[noun]), word), default="")
        for word in {best, *(gloss for gloss in glosses if row[gloss])} - {""}:
            dice = 2 * row[word] / (in_source[word] + in_target[noun])
            by_text = dice >= MIN_DICE and row[word] >= MIN_PAIRS and row[word] / in_target[noun] >= MIN_SHARE
            if (by_text or word in glosses) and _may_be_thing(word, noun, as_noun, in_source, genders):
                candidates[word].append(Noun(word, noun, genders[noun], row[word]))
    chosen = (_unambiguous(nouns) for nouns in candidates.values())
    return sorted((noun for noun in chosen if noun), key=lambda noun: (-noun.count, noun.target, noun.source))


def _may_be_thing(
    word: str, noun: str, as_noun: Counter[str], in_source: Counter[str], genders: Mapping[str, Gender]
) -> bool:
    is_noun = as_noun[word] >= 2 and as_noun[word] / in_source[word] >= 0.25
    is_oblique = noun.endswith("n") and (noun[:-1] in genders or noun[:-2] in genders)
    is_thing = word not in NO_THINGS and not is_person(word, noun, genders)
    return is_noun and is_thing and not is_plural(word) and not is_oblique


def _unambiguous(nouns: list[Noun]) -> Noun | None:
    """The most frequent translation, unless one of another gender is nearly as frequent."""
    best = max(nouns, key=lambda noun: (noun.count, noun.target))
    others = sum(noun.count for noun in nouns if noun.gender != best.gender)
    return best if best.count >= 3 * others else None

"""Nouns put into real sentences in the place of others of the same gender (Fadaee et al. 2017, "Data augmentation for
low-resource neural machine translation", here with a dictionary in place of language models).

Articles and adjectives agree with gender and case alone, so they stay as they are.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from model.data.context.german import ADJECTIVE, CONTRACTED, DETERMINERS, Gender
from model.data.context.nouns import Noun
from model.data.context.words import Word, join, like, split
from model.data.corpus import SentencePair

MAX_WORDS = 14
WEAK = ("e", "ent", "ant", "ist", "at", "oge", "and", "ekt")
"""Endings of masculine nouns that take -n or -en outside of the nominative."""


@dataclass(frozen=True)
class Frame:
    """A pair of sentences around one noun in the singular, which stands at these places."""

    source: tuple[Word, ...]
    target: tuple[Word, ...]
    source_place: int
    target_place: int
    gender: Gender
    is_concrete: bool

    def filled(self, noun: Noun) -> tuple[str, str]:
        source, target = list(self.source), list(self.target)
        place = self.source_place
        source[place] = source[place]._replace(core=like(noun.source, source[place].core))
        target[self.target_place] = target[self.target_place]._replace(core=noun.target)
        if place and source[place - 1].lower in ("a", "an"):
            article = "an" if noun.source[0] in "aeiou" else "a"
            source[place - 1] = source[place - 1]._replace(core=like(article, source[place - 1].core))
        return join(source), join(target)


def keeps_its_form(noun: Noun) -> bool:
    """Whether nominative, accusative and dative are the same word."""
    return noun.gender != "m" or not noun.target.endswith(WEAK)


def find_frames(pairs: Sequence[SentencePair], nouns: Sequence[Noun]) -> list[Frame]:
    """Short sentences with one noun of `nouns`, once on both sides, behind a German determiner."""
    by_target = {noun.target: noun for noun in nouns if keeps_its_form(noun)}
    frames = []
    for pair in dict.fromkeys((pair.source, pair.target) for pair in pairs):
        source, target = split(pair[0]), split(pair[1])
        if len(source) > MAX_WORDS or len(target) > MAX_WORDS:
            continue
        places = [place for place, word in enumerate(target) if word.core in by_target]
        if len(places) != 1 or not _has_determiner(target, places[0]):
            continue
        noun = by_target[target[places[0]].core]
        spots = [place for place, word in enumerate(source) if word.lower == noun.source]
        if len(spots) == 1 and not _is_joined(source[spots[0]]):
            frames.append(Frame(tuple(source), tuple(target), spots[0], places[0], noun.gender, noun.is_concrete))
    return frames


def _has_determiner(words: Sequence[Word], place: int) -> bool:
    before = [word.lower for word in words[max(0, place - 2) : place]]
    if before and ADJECTIVE.fullmatch(before[-1]) and before[-1] not in DETERMINERS:
        before = before[:-1]
    return bool(before) and (before[-1] in DETERMINERS or before[-1] in CONTRACTED)


def _is_joined(word: Word) -> bool:
    """Whether a hyphen or an apostrophe ties it to another word: German has one word for both."""
    return "-" in word.text or "'" in word.text


def nouns_in_sentences(
    frames: Sequence[Frame], nouns: Sequence[Noun], sentences: int, seed: int
) -> Iterator[tuple[str, str]]:
    """Every noun in so many different frames of its gender (fewer where there are fewer), concrete nouns in the frames
    of concrete ones; and every noun with its article alone."""
    by_kind: dict[tuple[Gender, bool], list[Frame]] = defaultdict(list)
    for frame in frames:
        by_kind[frame.gender, frame.is_concrete].append(frame)
    articles = {"m": "der", "f": "die", "n": "das"}
    for noun in nouns:
        if not keeps_its_form(noun):
            continue
        fitting = by_kind[noun.gender, noun.is_concrete]
        chosen = random.Random(f"{seed}/{noun.source}/{noun.target}").sample(fitting, min(sentences, len(fitting)))
        yield from (frame.filled(noun) for frame in chosen)
        yield f"the {noun.source}", f"{articles[noun.gender]} {noun.target}"
        yield noun.source, noun.target

"""Real sentences with another noun of the same gender.

Articles and adjectives agree in gender and case, so they do not change.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from model.data.corpus import SentencePair
from model.synthetic.context.german import ADJECTIVE, CONTRACTED, DETERMINERS, Gender
from model.synthetic.context.nouns import Noun
from model.synthetic.context.words import Word, unique_index
from model.synthetic.words.frames import Frame, constant_form, filled_frames, short_sentences, unique_word_index

WEAK = ("e", "ent", "ant", "ist", "at", "oge", "and", "ekt")
"""Endings of masculine nouns that take -n or -en outside of the nominative."""
ARTICLES = {"m": "der", "f": "die", "n": "das"}

NounFrame = Frame[tuple[Gender, bool]]
"""`kind`: gender, and whether the noun is concrete."""


def keeps_its_form(noun: Noun) -> bool:
    """Whether nominative, accusative and dative are the same word."""
    return noun.gender != "m" or not noun.target.endswith(WEAK)


def noun_frames(pairs: Sequence[SentencePair], nouns: Sequence[Noun]) -> list[NounFrame]:
    """Short sentences with one noun of `nouns`, once on both sides, behind a German determiner."""
    by_target = {noun.target: noun for noun in nouns if keeps_its_form(noun)}
    frames = []
    for source, target in short_sentences(pairs):
        index = unique_index(target, lambda word: word.core in by_target)
        if index is None or not _has_determiner(target, index):
            continue
        noun = by_target[target[index].core]
        source_index = unique_word_index(source, noun.source)
        if source_index is not None:
            frames.append(Frame(tuple(source), tuple(target), source_index, index, (noun.gender, noun.is_concrete)))
    return frames


def _has_determiner(words: Sequence[Word], index: int) -> bool:
    before = [word.lower for word in words[max(0, index - 2) : index]]
    if before and ADJECTIVE.fullmatch(before[-1]) and before[-1] not in DETERMINERS:
        before = before[:-1]
    return bool(before) and (before[-1] in DETERMINERS or before[-1] in CONTRACTED)


def nouns_in_sentences(
    frames: Sequence[NounFrame], nouns: Sequence[Noun], sentences: int, seed: int
) -> Iterator[tuple[str, str]]:
    """Every noun in so many different frames of its gender (fewer where there are fewer), concrete nouns in the frames
    of concrete ones; and every noun alone and with its article."""
    by_kind: dict[tuple[Gender, bool], list[NounFrame]] = defaultdict(list)
    for frame in frames:
        by_kind[frame.kind].append(frame)
    for noun in nouns:
        if keeps_its_form(noun):
            fitting, german = by_kind[noun.gender, noun.is_concrete], noun.target
            yield from filled_frames(
                fitting, noun.source, constant_form(german), sentences, f"{seed}/{noun.source}/{german}"
            )
            yield f"the {noun.source}", f"{ARTICLES[noun.gender]} {german}"
            yield noun.source, german

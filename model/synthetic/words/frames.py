"""Sentences in which one word can be put in the place of another (Fadaee et al. 2017, "Data augmentation for
low-resource neural machine translation", here with a dictionary in place of language models)."""

import random
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from model.data.corpus import SentencePair
from model.synthetic.context.words import Word, join, like, only_place, split

Kind = TypeVar("Kind", bound=Hashable)
MAX_WORDS = 14


@dataclass(frozen=True)
class Frame(Generic[Kind]):
    """A pair of sentences around one word, which stands at these places. `kind` says which words fit there."""

    source: tuple[Word, ...]
    target: tuple[Word, ...]
    source_place: int
    target_place: int
    kind: Kind

    def filled(self, source_word: str, target_word: str) -> tuple[str, str]:
        """The sentences around another word; an article "a" or "an" in front of it goes with it."""
        source, target = list(self.source), list(self.target)
        place = self.source_place
        source[place] = source[place]._replace(core=like(source_word, source[place].core))
        target[self.target_place] = target[self.target_place]._replace(
            core=like(target_word, target[self.target_place].core)
        )
        if place and source[place - 1].lower in ("a", "an"):
            article = "an" if source_word[0] in "aeiou" else "a"
            source[place - 1] = source[place - 1]._replace(core=like(article, source[place - 1].core))
        return join(source), join(target)


def short_sentences(pairs: Sequence[SentencePair]) -> Iterator[tuple[list[Word], list[Word]]]:
    """Both sides as words, each pair once."""
    for source, target in dict.fromkeys((pair.source, pair.target) for pair in pairs):
        both = split(source), split(target)
        if max(map(len, both)) <= MAX_WORDS:
            yield both


def only_place_of(words: Sequence[Word], lower: str) -> int | None:
    """Where an English word stands, if it does once and no hyphen or apostrophe ties it to another, for which German
    has one word."""
    place = only_place(words, lambda word: word.lower == lower)
    return None if place is None or "-" in words[place].text or "'" in words[place].text else place


def put_into(
    frames: Sequence[Frame[Kind]], source: str, form: Callable[[Kind], str], sentences: int, seed: str
) -> Iterator[tuple[str, str]]:
    """A word in so many different frames (fewer where there are fewer), on the target side in the `form` of each."""
    for frame in random.Random(seed).sample(frames, min(sentences, len(frames))):
        yield frame.filled(source, form(frame.kind))


def always(word: str) -> Callable[[object], str]:
    """The form of a word that is the same everywhere."""
    return lambda _: word

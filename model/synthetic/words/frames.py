"""Sentences in which one word can be put in the place of another (Fadaee et al. 2017, "Data augmentation for
low-resource neural machine translation", here with a dictionary in place of language models)."""

import random
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from model.data.corpus import SentencePair
from model.synthetic.context.words import Word, join, like, split, unique_index

Kind = TypeVar("Kind", bound=Hashable)
MAX_WORDS = 14


@dataclass(frozen=True)
class Frame(Generic[Kind]):
    """A pair of sentences around one word, with its indices on both sides. Words of the same `kind` fit."""

    source: tuple[Word, ...]
    target: tuple[Word, ...]
    source_index: int
    target_index: int
    kind: Kind

    def filled(self, source_word: str, target_word: str) -> tuple[str, str]:
        """The sentences around another word; an article "a" or "an" in front of it goes with it."""
        source, target = list(self.source), list(self.target)
        index = self.source_index
        source[index] = source[index]._replace(core=like(source_word, source[index].core))
        target[self.target_index] = target[self.target_index]._replace(
            core=like(target_word, target[self.target_index].core)
        )
        if index and source[index - 1].lower in ("a", "an"):
            article = "an" if source_word[0] in "aeiou" else "a"
            source[index - 1] = source[index - 1]._replace(core=like(article, source[index - 1].core))
        return join(source), join(target)


def short_sentences(pairs: Sequence[SentencePair]) -> Iterator[tuple[list[Word], list[Word]]]:
    """Both sides as words, each pair once."""
    for source, target in dict.fromkeys((pair.source, pair.target) for pair in pairs):
        both = split(source), split(target)
        if max(map(len, both)) <= MAX_WORDS:
            yield both


def unique_word_index(words: Sequence[Word], lower: str) -> int | None:
    """The index of an English word, if it occurs once and not in a compound with a hyphen or apostrophe, which may be
    one word in German."""
    index = unique_index(words, lambda word: word.lower == lower)
    return None if index is None or "-" in words[index].text or "'" in words[index].text else index


def filled_frames(
    frames: Sequence[Frame[Kind]], source: str, form: Callable[[Kind], str], sentences: int, seed: str
) -> Iterator[tuple[str, str]]:
    """A word in so many different frames (fewer where there are fewer), on the target side in the `form` of each."""
    for frame in random.Random(seed).sample(frames, min(sentences, len(frames))):
        yield frame.filled(source, form(frame.kind))


def constant_form(word: str) -> Callable[[object], str]:
    """The form function of an uninflected word."""
    return lambda _: word

"""The text that rows are measured on, by document."""

import functools
import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from model.data.batching import Pair
from model.data.corpus import SentencePair, read_corpus
from model.data.vocabulary import Vocabulary


@dataclass(frozen=True)
class EncodedPair:
    text: SentencePair
    ids: Pair


@dataclass(frozen=True)
class TextSet:
    """The first documents of a corpus; `key` changes with any of their sentences."""

    name: str
    documents: tuple[tuple[EncodedPair, ...], ...]
    key: str

    @property
    def is_divided(self) -> bool:
        return any(len(document) > 1 for document in self.documents)

    @property
    def sentences(self) -> list[EncodedPair]:
        return [sentence for document in self.documents for sentence in document]

    @property
    def sources(self) -> list[str]:
        return [sentence.text.source for sentence in self.sentences]

    @property
    def references(self) -> list[str]:
        return [sentence.text.target for sentence in self.sentences]

    @property
    def pairs(self) -> list[list[Pair]]:
        """Ids, document by document."""
        return [[sentence.ids for sentence in document] for document in self.documents]


@dataclass(frozen=True)
class TextChoice:
    """The selected sentences of a corpus: pairs of at most `longest` pieces a side, as in training; the first `most` of
    every document; documents from the first on until they hold `limit` sentences (None: all)."""

    longest: int
    most: int | None
    limit: int | None


@functools.cache
def read_set(data: Path, name: str, languages: tuple[str, str], vocabulary: Path, choice: TextChoice) -> TextSet:
    """In a corpus that is not divided into documents every sentence is a document of its own. Raises CorpusError for a
    corpus that is not below `data`."""
    pieces = Vocabulary(vocabulary)
    documents: list[tuple[EncodedPair, ...]] = []
    sentences = 0
    for group in grouped(read_corpus(data, name, *languages)):
        if choice.limit is not None and sentences >= choice.limit:
            break
        kept = encoded(group, pieces, choice.longest)[: choice.most]
        if kept:
            documents.append(kept)
            sentences += len(kept)
    lines = [f"{s.text.source}\n{s.text.target}" for document in documents for s in document]
    digest = hashlib.sha256("\n".join([*lines, str([len(d) for d in documents])]).encode()).hexdigest()
    return TextSet(name, tuple(documents), f"{name} {sentences} {digest[:16]}")


def grouped(pairs: Sequence[SentencePair]) -> list[list[SentencePair]]:
    """The pairs document by document; one by one where the corpus has no documents."""
    if not pairs or pairs[-1].document == 0:
        return [[pair] for pair in pairs]
    return [list(group) for _, group in itertools.groupby(pairs, key=lambda pair: pair.document)]


def encoded(pairs: Sequence[SentencePair], vocabulary: Vocabulary, longest: int) -> tuple[EncodedPair, ...]:
    """The pairs with their ids, without empty and too long pairs, as in training."""
    sources = vocabulary.encode([pair.source for pair in pairs])
    targets = vocabulary.encode([pair.target for pair in pairs])
    every = (EncodedPair(p, Pair(s, t)) for p, s, t in zip(pairs, sources, targets, strict=True))
    return tuple(pair for pair in every if 0 < max(len(pair.ids.source), len(pair.ids.target)) <= longest)

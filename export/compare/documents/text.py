"""The documents that rows are measured on."""

import functools
import hashlib
import itertools
from dataclasses import dataclass
from pathlib import Path

from model.data.batching import Pair
from model.data.corpus import CorpusError, SentencePair, read_corpus
from model.data.vocabulary import Vocabulary


@dataclass(frozen=True)
class EncodedSentence:
    text: SentencePair
    ids: Pair


@dataclass(frozen=True)
class DocumentSet:
    """The first documents of a corpus; `key` changes with any of their sentences."""

    name: str
    documents: tuple[tuple[EncodedSentence, ...], ...]
    key: str

    @property
    def sentences(self) -> list[EncodedSentence]:
        return [sentence for document in self.documents for sentence in document]

    @property
    def references(self) -> list[str]:
        return [sentence.text.target for sentence in self.sentences]


@functools.cache
def read_document_set(
    data: Path, name: str, languages: tuple[str, str], vocabulary: Path, longest: int, most: int, sentences: int
) -> DocumentSet:
    """The first `most` sentences of every document, from the first document on, until they are at least `sentences`.
    Pairs with more than `longest` pieces on a side leave their document, as in training.

    Raises CorpusError for a corpus that is not below `data` or has no documents.
    """
    pairs = read_corpus(data, name, *languages)
    if not pairs or pairs[-1].document == 0:
        raise CorpusError(f"corpus '{name}' is not divided into documents: an empty line in both files ends one")
    documents: list[tuple[EncodedSentence, ...]] = []
    pieces = Vocabulary(vocabulary)
    for _, group in itertools.groupby(pairs, key=lambda pair: pair.document):
        kept = encoded(list(group), pieces, longest)[:most]
        if kept:
            documents.append(kept)
        if sum(map(len, documents)) >= sentences:
            break
    lines = [f"{s.text.source}\n{s.text.target}" for document in documents for s in document]
    digest = hashlib.sha256("\n".join([*lines, str([len(d) for d in documents])]).encode()).hexdigest()
    return DocumentSet(name, tuple(documents), f"{name} {len(documents)} documents {digest[:16]}")


def encoded(pairs: list[SentencePair], vocabulary: Vocabulary, longest: int) -> tuple[EncodedSentence, ...]:
    sources = vocabulary.encode([pair.source for pair in pairs])
    targets = vocabulary.encode([pair.target for pair in pairs])
    every = (EncodedSentence(p, Pair(s, t)) for p, s, t in zip(pairs, sources, targets, strict=True))
    return tuple(one for one in every if 0 < max(len(one.ids.source), len(one.ids.target)) <= longest)

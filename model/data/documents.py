"""Documents for training with context: sentences with their index in the document, and passages, the unit of one
update.

A passage holds whole documents up to a number of tokens. The sentences that attend (`queries`) and the
sentences that are attended to (`keys`) differ only where the context of another document replaces the true context.
"""

import dataclasses
import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from model.data.batching import Pair, epoch_items
from model.data.corpus import CorpusError, read_corpus
from model.data.vocabulary import Vocabulary
from model.masks import context_distance


@dataclass(frozen=True)
class PlacedPair:
    """Pair number `index` of document number `document`; `draft` is the translation by the sentence model, where
    context in the target language is used. `needs_context`: the pair is of a made document, and without context it has
    several valid translations."""

    pair: Pair
    document: int
    index: int
    draft: tuple[int, ...] = ()
    needs_context: bool = False


MADE = "context-"
"""Prefix of the names of corpora that are made so that context decides."""
Document = list[PlacedPair]


@dataclass(frozen=True)
class Passage:
    queries: list[PlacedPair]
    keys: list[PlacedPair]

    def distance(self, online: bool, reach: int | None = None) -> Tensor:
        """[query, key], see masks.context_distance."""
        return context_distance(*places(self.queries), *places(self.keys), online, reach)

    def grids(self) -> tuple[Tensor, Tensor]:
        """The indices of queries and of keys, a row for each document, padded with -1: [document, J] each."""
        order = {document: row for row, document in enumerate(dict.fromkeys(s.document for s in self.queries))}
        return grid(self.queries, order), grid(self.keys, order)


def grid(sentences: Sequence[PlacedPair], order: dict[int, int]) -> Tensor:
    """The index of every sentence in `sentences`, in the row that `order` gives its document: [document, J], padded
    with -1."""
    rows: list[list[int]] = [[] for _ in order]
    for number, sentence in enumerate(sentences):
        rows[order[sentence.document]].append(number)
    width = max(map(len, rows))
    return torch.tensor([row + [-1] * (width - len(row)) for row in rows])


def places(sentences: Sequence[PlacedPair]) -> tuple[Tensor, Tensor]:
    """Document numbers and indices, [sentence] each."""
    return torch.tensor([s.document for s in sentences]), torch.tensor([s.index for s in sentences])


def read_documents(
    folder: Path,
    name: str,
    languages: tuple[str, str],
    vocabulary: Vocabulary,
    max_pair_length: int,
    limit: int | None = None,
    alone: bool = False,
    source_vocabulary: Vocabulary | None = None,
) -> list[Document]:
    """The documents among a corpus's first `limit` pairs, without pairs longer than `max_pair_length` pieces.
    In a corpus that is not divided into documents every pair is a document with `alone`; otherwise raises
    CorpusError. `source_vocabulary`: of the source, where it has one of its own."""
    pairs = read_corpus(folder, name, *languages)
    is_divided = not pairs or pairs[-1].document > 0
    if not is_divided and not alone:
        raise CorpusError(
            f"corpus '{name}' is not divided into documents: an empty line at the same place in both files ends one; "
            f"take a corpus that has them, or train with a recipe without the section 'document'"
        )
    pairs = pairs[:limit]
    encoded = zip(
        (source_vocabulary or vocabulary).encode([pair.source for pair in pairs]),
        vocabulary.encode([pair.target for pair in pairs]),
        (pair.document if is_divided else number for number, pair in enumerate(pairs)),
        strict=True,
    )
    documents, made = [], Path(name).name.startswith(MADE)
    for number, group in itertools.groupby(encoded, key=lambda item: item[2]):
        kept = [Pair(s, t) for s, t, _ in group if 0 < max(len(s), len(t)) <= max_pair_length]
        if kept:
            placed = (PlacedPair(pair, number, index, needs_context=made) for index, pair in enumerate(kept))
            documents.append(list(placed))
    return documents


def cut_documents(documents: Sequence[Document], max_sentences: int) -> list[Document]:
    """Parts of at most `max_sentences`, each a document, with new numbers."""
    pieces = (
        document[start : start + max_sentences]
        for document in documents
        for start in range(0, len(document), max_sentences)
    )
    return [
        [dataclasses.replace(sentence, document=number, index=index) for index, sentence in enumerate(piece)]
        for number, piece in enumerate(pieces)
    ]


def passages(
    documents: Sequence[Document], max_tokens: int, foreign: dict[int, Document] | None = None
) -> list[Passage]:
    """Pack documents, in the order given, into passages: all sentences together, each as long as the longest side of
    any, stay within `max_tokens`, unless one document alone is beyond. Documents of like length together waste least.

    `foreign` gives, by document number, the document whose sentences are the keys instead of the document's own.
    """
    groups: list[list[Document]] = []
    sentences = widest = 0
    for document in documents:
        widest = max(widest, width(document))
        sentences += len(document)
        if not groups or widest * sentences > max_tokens:
            groups.append([])
            sentences, widest = len(document), width(document)
        groups[-1].append(document)
    return [_passage(group, foreign) for group in groups]


def _passage(documents: list[Document], foreign: dict[int, Document] | None) -> Passage:
    queries = [sentence for document in documents for sentence in document]
    if foreign is None:
        return Passage(queries, queries)  # the same list: its sentences are encoded once
    return Passage(queries, [sentence for document in documents for sentence in foreign_keys(document, foreign)])


def width(document: Document) -> int:
    """Its longest side, with EOS."""
    return 1 + max(max(len(sentence.pair.source), len(sentence.pair.target)) for sentence in document)


def by_length(documents: Sequence[Document], seed: str) -> list[Document]:
    """Sorted by sentences and length, with some noise, so that epochs differ."""
    numbers = random.Random(seed)
    noise = [numbers.random() * 3 for _ in documents]
    key = [(len(document), width(document) + extra) for document, extra in zip(documents, noise, strict=True)]
    return [documents[index] for index in sorted(range(len(documents)), key=lambda index: key[index])]


def foreign_keys(document: Document, foreign: dict[int, Document]) -> Document:
    """The sentences of another document, with the number of `document`, so that its queries attend to them."""
    number = document[0].document
    return [dataclasses.replace(sentence, document=number) for sentence in foreign[number]]


def foreign_documents(documents: Sequence[Document], seed: str) -> dict[int, Document]:
    """For every document number another document (where there are at least two)."""
    order = list(documents)
    random.Random(seed).shuffle(order)
    return {first[0].document: other for first, other in zip(order, order[1:] + order[:1], strict=True)}


def epoch_documents(
    corpora: dict[str, list[Document]], passes: dict[str, float], seed: int, epoch: int
) -> list[Document]:
    """One epoch of documents, shuffled; see `epoch_items`."""
    documents = epoch_items(corpora, passes, seed, epoch)
    random.Random(f"{seed}/{epoch}").shuffle(documents)
    # The same document may come twice, and each corpus counts from zero: documents get new numbers.
    return [[dataclasses.replace(s, document=number) for s in document] for number, document in enumerate(documents)]

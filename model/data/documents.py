"""Documents for training with context: sentences that know their place, and passages, the unit of one update.

A passage holds whole documents up to a number of sentences. Its sentences are looked from (`queries`) and looked at
(`keys`), which differ only where a foreign document is shown instead of the true one.
"""

import dataclasses
import itertools
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from model.config import UNK_ID
from model.data.batching import Pair, epoch_items
from model.data.corpus import CorpusError, read_corpus
from model.data.vocabulary import Vocabulary
from model.masks import context_keep


@dataclass(frozen=True)
class Sentence:
    """A pair at place `index` of document number `document`; `draft` is the sentence model's own translation, where
    context in the target language is used."""

    pair: Pair
    document: int
    index: int
    draft: tuple[int, ...] = ()


Document = list[Sentence]


@dataclass(frozen=True)
class Passage:
    queries: list[Sentence]
    keys: list[Sentence]

    def keep(self, online: bool) -> Tensor:
        """bool [query, key], see masks.context_keep."""
        return context_keep(*places(self.queries), *places(self.keys), online)


def places(sentences: Sequence[Sentence]) -> tuple[Tensor, Tensor]:
    """Document numbers and places, [sentence] each."""
    return torch.tensor([s.document for s in sentences]), torch.tensor([s.index for s in sentences])


def read_documents(
    folder: Path,
    name: str,
    languages: tuple[str, str],
    vocabulary: Vocabulary,
    max_pair_length: int,
    limit: int | None = None,
) -> list[Document]:
    """The documents among a corpus's first `limit` pairs, without pairs longer than `max_pair_length` pieces.
    Raises CorpusError where nothing separates documents."""
    pairs = read_corpus(folder, name, *languages)
    if pairs and pairs[-1].document == 0:
        raise CorpusError(
            f"corpus '{name}' is not divided into documents: an empty line at the same place in both files ends one; "
            f"take a corpus that has them, or train with a recipe without the section 'document'"
        )
    pairs = pairs[:limit]
    encoded = zip(
        vocabulary.encode([pair.source for pair in pairs]),
        vocabulary.encode([pair.target for pair in pairs]),
        (pair.document for pair in pairs),
        strict=True,
    )
    documents = []
    for number, group in itertools.groupby(encoded, key=lambda item: item[2]):
        kept = [Pair(s, t) for s, t, _ in group if 0 < max(len(s), len(t)) <= max_pair_length]
        if kept:
            documents.append([Sentence(pair, number, index) for index, pair in enumerate(kept)])
    return documents


def cut_documents(documents: Sequence[Document], max_sentences: int) -> list[Document]:
    """Pieces of at most `max_sentences`, each a document of its own, numbered anew."""
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
    documents: Sequence[Document], max_sentences: int, shown: dict[int, Document] | None = None
) -> list[Passage]:
    """Pack documents, in the order given, into passages of at most `max_sentences`.

    `shown` gives, by document number, another document to look at; its sentences take the places of the true ones.
    """
    groups: list[list[Document]] = []
    size = max_sentences
    for document in documents:
        if size + len(document) > max_sentences:
            groups.append([])
            size = 0
        groups[-1].append(document)
        size += len(document)
    return [Passage([s for d in group for s in d], [s for d in group for s in looked_at(d, shown)]) for group in groups]


def looked_at(document: Document, shown: dict[int, Document] | None) -> Document:
    if shown is None:
        return document
    number = document[0].document
    return [dataclasses.replace(sentence, document=number) for sentence in shown[number]]


def foreign_documents(documents: Sequence[Document], seed: str) -> dict[int, Document]:
    """For every document number a document that is another one (where there are at least two)."""
    order = list(documents)
    random.Random(seed).shuffle(order)
    return {one[0].document: other for one, other in zip(order, order[1:] + order[:1], strict=True)}


def epoch_documents(
    corpora: dict[str, list[Document]], passes: dict[str, float], seed: int, epoch: int
) -> list[Document]:
    """One epoch of documents, shuffled; see `epoch_items`."""
    documents = epoch_items(corpora, passes, seed, epoch)
    random.Random(f"{seed}/{epoch}").shuffle(documents)
    # The same document may come twice, and corpora count from zero each: numbers are given anew.
    return [[dataclasses.replace(s, document=number) for s in document] for number, document in enumerate(documents)]


def hide_pieces(passage: Passage, share: float, only_repeated: bool, random_numbers: random.Random) -> Passage:
    """The passage with a random `share` of the source pieces that sentences look from made unknown, so that context is
    needed; what they look at stays whole.

    `only_repeated` hides nothing but what context tells: pieces of another sentence of the document, and of no more
    than a quarter of them, which leaves out punctuation and words that are everywhere.
    """
    seen: dict[int, Counter[int]] = {}
    sentences = Counter(sentence.document for sentence in passage.keys)
    for sentence in passage.keys:
        seen.setdefault(sentence.document, Counter()).update(set(sentence.pair.source))

    def may_hide(document: int, piece: int) -> bool:
        return not only_repeated or 1 < seen[document][piece] <= max(2, sentences[document] // 4)

    queries = []
    for sentence in passage.queries:
        source = [
            UNK_ID if random_numbers.random() < share and may_hide(sentence.document, piece) else piece
            for piece in sentence.pair.source
        ]
        queries.append(dataclasses.replace(sentence, pair=Pair(source, sentence.pair.target)))
    return Passage(queries, passage.keys)

"""Sources cut into pieces at random, anew in every epoch (subword regularization, Kudo 2018), so that a model learns to
read words that are spelled in pieces it seldom sees, as misspelled ones are."""

import dataclasses
import random

from model.data.batching import Pair
from model.data.documents import Document
from model.data.vocabulary import Vocabulary


def with_drawn_sources(
    pairs: list[Pair], share: float, vocabulary: Vocabulary, seed: int, epoch: int, longest: int
) -> list[Pair]:
    """`pairs`, of which a random `share` have their sources cut anew at random; one that would be longer than `longest`
    stays as it is."""
    numbers = random.Random(f"{seed}/{epoch}/drawn")
    chosen = numbers.sample(range(len(pairs)), round(len(pairs) * share))
    texts = vocabulary.decode([pairs[place].source for place in chosen])
    found = list(pairs)
    for place, source in zip(chosen, vocabulary.draw(texts, numbers.getrandbits(31)), strict=True):
        if 0 < len(source) <= longest:
            found[place] = Pair(source, pairs[place].target)
    return found


def with_drawn_documents(
    documents: list[Document], share: float, vocabulary: Vocabulary, seed: int, epoch: int, longest: int
) -> list[Document]:
    """The same for the sentences of documents, which are shown to each other as they are read. Drafts stay."""
    pairs = [sentence.pair for document in documents for sentence in document]
    drawn = iter(with_drawn_sources(pairs, share, vocabulary, seed, epoch, longest))
    return [[dataclasses.replace(sentence, pair=next(drawn)) for sentence in document] for document in documents]

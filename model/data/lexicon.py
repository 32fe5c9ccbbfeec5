"""The target words that a source sentence is likely to need: word translation probabilities (IBM model 1, Brown et al.
1993, section 4.3) and the words that every sentence may need.

With a shortlist from it the decoder computes a small part of its output projection. Words are the vocabulary's pieces.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from model.config import BOS_ID, EOS_ID, PAD_ID, UNK_ID
from model.data.batching import Pair
from model.durable import replace_file

NULL_ID = UNK_ID
"""The empty source word, which generates target words without a source word, has the id of UNK."""
PAIRS_AT_ONCE = 5000
LEXICON = "lexicon.npz"


Ids = NDArray[np.int16] | NDArray[np.int32]
"""Numbers of words, at 16 bits where the vocabulary allows."""


@dataclass(frozen=True)
class Lexicon:
    """`words` [vocabulary, k] are the likeliest translations of every source word, best first, with `probability`
    (same shape); `by_frequency` are all words that can be generated, EOS first, then by frequency in the target."""

    words: Ids
    probability: NDArray[np.float16]
    by_frequency: Ids

    def save(self, path: Path) -> None:
        """Equal lexicons give equal files. The file is renamed when complete: a killed process leaves no partial
        file."""
        temporary = path.with_suffix(".tmp.npz")
        np.savez_compressed(temporary, words=self.words, probability=self.probability, by_frequency=self.by_frequency)
        replace_file(temporary, path)

    @classmethod
    def load(cls, path: Path) -> "Lexicon":
        with np.load(path) as arrays:
            return cls(arrays["words"], arrays["probability"], arrays["by_frequency"])


def smallest(values: NDArray[np.int64], most: int) -> Ids:
    """Numbers from 0 to `most` in the smallest type that holds them."""
    return values.astype(np.int16) if most <= np.iinfo(np.int16).max else values.astype(np.int32)


LARGEST_TABLE = 2**30
"""Cells of a table of all pairs of words (4 GB); for larger vocabularies only pairs of the text have a cell."""


def train_lexicon(pairs: list[Pair], vocab_size: int, translations: int = 64, iterations: int = 4) -> Lexicon:
    """Expectation maximisation over `pairs`; a source word counts once in a sentence. Needs 4 * vocab_size**2 bytes
    twice, or, for more than 32,768 words, 20 bytes for every pair of words that stand in one pair of sentences."""
    known = None if vocab_size**2 <= LARGEST_TABLE else _known_cells(pairs, vocab_size)
    probability = np.ones(vocab_size**2 if known is None else len(known), np.float32)
    for _ in range(iterations):
        probability = _iterate(pairs, probability, known, vocab_size)
    best, chances = _best(probability, known, vocab_size, translations)
    frequency = np.bincount(np.concatenate([np.asarray(pair.target) for pair in pairs]), minlength=vocab_size)
    frequency[[PAD_ID, UNK_ID, BOS_ID]] = -1
    frequency[EOS_ID] = np.iinfo(np.int64).max
    order = np.argsort(-frequency, kind="stable")[:-3]
    return Lexicon(smallest(best, vocab_size), chances.astype(np.float16), smallest(order, vocab_size))


def _best(
    probability: NDArray[np.float32], known: NDArray[np.int64] | None, vocab_size: int, count: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The `count` likeliest words of every source word, best first, and their probabilities, [vocabulary, count]; where
    a word has fewer, padding with probability 0."""
    if known is None:
        table = probability.reshape(vocab_size, vocab_size)
        best = np.argsort(-table, axis=1, kind="stable")[:, :count]
        return best, np.take_along_axis(table, best, axis=1)
    owner = known // vocab_size
    order = np.lexsort((-probability, owner))
    owner, words, chances = owner[order], (known % vocab_size)[order], probability[order]
    rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
    kept = rank < count
    best = np.full((vocab_size, count), PAD_ID, np.int64)
    result = np.zeros((vocab_size, count), np.float32)
    best[owner[kept], rank[kept]], result[owner[kept], rank[kept]] = words[kept], chances[kept]
    return best, result


def _known_cells(pairs: list[Pair], size: int) -> NDArray[np.int64]:
    """The cells (see `_cells`) that `pairs` have, ascending."""
    known: NDArray[np.int64] = np.zeros(0, np.int64)
    for start in range(0, len(pairs), PAIRS_AT_ONCE):
        known = np.union1d(known, _cells(pairs[start : start + PAIRS_AT_ONCE], size)[0])
    return known


def _iterate(
    pairs: list[Pair], probability: NDArray[np.float32], known: NDArray[np.int64] | None, size: int
) -> NDArray[np.float32]:
    """Expected counts of (source word, target word) under `probability`, normalised for every source word. Both are
    over all cells, or over the `known` ones."""
    counts = np.zeros(len(probability), np.float32)
    for start in range(0, len(pairs), PAIRS_AT_ONCE):
        cell, target_word = _cells(pairs[start : start + PAIRS_AT_ONCE], size)
        if known is not None:
            cell = np.searchsorted(known, cell)
        chance = probability[cell]
        total = np.bincount(target_word, chance)
        np.add.at(counts, cell, (chance / total[target_word]).astype(np.float32))
    if known is None:
        table = counts.reshape(size, size)
        normalised: NDArray[np.float32] = table / np.maximum(table.sum(axis=1, keepdims=True), 1e-9)
        return normalised.reshape(-1)
    owner = known // size
    totals = np.bincount(owner, counts, minlength=size)
    return (counts / np.maximum(totals, 1e-9)[owner]).astype(np.float32)


def _cells(pairs: list[Pair], vocab_size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every combination of a source word (with NULL) and a target word that stand in one pair: its place in the
    flat table, and the running number of its target word."""
    cells, owners, words = [], [], 0
    for pair in pairs:
        source = np.unique([NULL_ID, *pair.source])
        target = np.asarray(pair.target, np.int64)
        cells.append((source[None, :] * vocab_size + target[:, None]).ravel())
        owners.append(np.repeat(np.arange(words, words + len(target)), len(source)))
        words += len(target)
    return np.concatenate(cells), np.concatenate(owners)

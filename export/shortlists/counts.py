"""Counts which target words a model considers for which source words: the candidates of every step of a greedy search,
each shared among the source's pieces by the weights of the model's own cross-attention at that step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from export.onnx_graph.word_lists import NOTHING, WordLists
from export.shortlists.recording import Translation
from server.backends.arrays import Floats

MIN_ATTENTION = 0.05
"""Pieces with a smaller weight get no share."""
COPY = 1.0
"""How often every source piece is taken to be copied, beside what was counted."""


@dataclass
class Counts:
    """`shares` [cell]: of the source and target word of each of `cells` (source * target words + target, ascending);
    `seen` [source words] and `written` [target words]: how often a piece was translated and written; `considered`
    [target words]: how often it was a candidate. `in_text` [source words]: how often the text has a piece, once a
    sentence."""

    cells: NDArray[np.int64]
    shares: NDArray[np.float64]
    seen: NDArray[np.int64]
    written: NDArray[np.int64]
    considered: NDArray[np.float64]
    in_text: NDArray[np.int64]

    @classmethod
    def empty(cls, source_words: int, target_words: int) -> "Counts":
        none, zeros = np.zeros(0, np.int64), np.zeros(target_words, np.int64)
        of_source = np.zeros(source_words, np.int64)
        return cls(none, np.zeros(0), of_source, zeros, np.zeros(target_words), of_source.copy())

    def add(self, translated: Sequence[Translation], attention: Sequence[Floats], start_length: int = 0) -> None:
        """Count translations, with the weights [piece, source] of each. The encoder does not read the first
        `start_length` ids of a source."""
        cells, shares = [self.cells], [self.shares]
        for each, weights in zip(translated, attention, strict=True):
            source = np.array(each.source, np.int64)
            piece, place = np.nonzero(weights >= MIN_ATTENTION)
            cells.append((source[place, None] * len(self.written) + each.tokens[piece]).ravel())
            shares.append(np.repeat(weights[piece, place].astype(np.float64), each.tokens.shape[1]))
            self.seen += np.bincount(np.unique(source[start_length:]), minlength=len(self.seen))
            self.written += np.bincount(np.array(each.target, np.int64), minlength=len(self.written))
            self.considered += np.bincount(each.tokens.ravel(), minlength=len(self.considered))
        self.cells, owner = np.unique(np.concatenate(cells), return_inverse=True)
        self.shares = np.bincount(owner, np.concatenate(shares), len(self.cells)).astype(np.float64)

    def by_frequency(self, first: int, never: Sequence[int]) -> NDArray[np.int64]:
        """All target words but those of `never`: `first`, then those written most, considered most, of the lowest
        id."""
        order = np.lexsort((-self.considered, -self.written))
        return np.array([first, *order[~np.isin(order, [*never, first])].tolist()])

    def lists(self, copies: Mapping[int, int], most: int) -> WordLists:
        """For every source word the `most` words with the largest share of its occurrences. `copies`: source word ->
        the same piece among the target words."""
        source, target = np.divmod(self.cells, len(self.written))
        copied = np.array(sorted(copies.items()), np.int64).reshape(-1, 2)
        source, target = np.append(source, copied[:, 0]), np.append(target, copied[:, 1])
        cells, owner = np.unique(source * len(self.written) + target, return_inverse=True)
        share = np.bincount(owner, np.append(self.shares, np.full(len(copied), COPY)), len(cells))
        source, target = np.divmod(cells, len(self.written))
        weight = share / (self.seen[source] + COPY)
        order = np.lexsort((target, -weight, source))
        source, target, weight = source[order], target[order], weight[order]
        rank = np.arange(len(source)) - np.searchsorted(source, source)
        kept = rank < most
        begin = np.concatenate([[0], np.cumsum(np.bincount(source[kept], minlength=len(self.seen)))])
        return WordLists(begin, target[kept], weight[kept].astype(np.float16), NOTHING)

"""Which target words may translate each source word: rows of any length, in one array (compressed sparse rows)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.data.lexicon import NULL_ID, Lexicon

NOTHING: Mapping[int, float] = {}


@dataclass(frozen=True)
class WordLists:
    """The words of source word s are `words`[`begin`[s] : `begin`[s + 1]], with their `weight` (both [listed words]);
    `begin` [source words + 1]. A sentence's list has the words whose weights, summed over the sentence's pieces, are
    the largest; `everywhere` are weights of words that are added in every sentence."""

    begin: NDArray[np.int64]
    words: NDArray[np.int64]
    weight: NDArray[np.float16]
    everywhere: Mapping[int, float]

    @classmethod
    def of(cls, lexicon: Lexicon) -> "WordLists":
        """The lists of a lexicon, those of its empty source word everywhere."""
        words, width = lexicon.words.astype(np.int64), lexicon.words.shape[1]
        everywhere = dict(zip(words[NULL_ID].tolist(), lexicon.probability[NULL_ID].tolist(), strict=True))
        return cls(width * np.arange(len(words) + 1), words.ravel(), lexicon.probability.ravel(), everywhere)

    @classmethod
    def equal(cls, lists: Sequence[Sequence[int]]) -> "WordLists":
        """Lists without probabilities: every word has the weight 1."""
        begin = np.concatenate([[0], np.cumsum([len(words) for words in lists], dtype=np.int64)])
        words = np.fromiter((word for words in lists for word in words), np.int64, int(begin[-1]))
        return cls(begin, words, np.ones(len(words), np.float16), NOTHING)

    @property
    def width(self) -> int | None:
        """The length of all rows; None where they have several."""
        lengths = np.diff(self.begin)
        return int(lengths[0]) if len(lengths) and (lengths == lengths[0]).all() else None

    def row(self, source: int) -> dict[int, float]:
        """The words of one source word and their weights."""
        at = slice(self.begin[source], self.begin[source + 1])
        return dict(zip(self.words[at].tolist(), self.weight[at].tolist(), strict=True))

    def __len__(self) -> int:
        return len(self.begin) - 1

    def without(self, words: NDArray[np.bool_]) -> "WordLists":
        """The lists without the words that are marked in `words` [target words]."""
        kept = ~words[self.words]
        begin = np.concatenate([[0], np.cumsum(kept, dtype=np.int64)])[self.begin]
        everywhere = {word: weight for word, weight in self.everywhere.items() if not words[word]}
        return WordLists(begin, self.words[kept], self.weight[kept], everywhere)

"""The interface of runtimes for word alignment."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from server.backends.arrays import Flags, Floats, Ints
from server.backends.memory import Encoded

IdPair = tuple[Sequence[int], Sequence[int]]
"""Ids of a source with EOS, and of its translation without EOS and without the tokens that it starts with."""


class CannotAlign(ValueError):
    """The model has no graph that aligns, or the runtime cannot run one."""


class Aligner(Protocol):
    """Runs the align graph of one artifact. Safe to call from several threads."""

    @property
    def is_prepared(self) -> bool:
        """Whether `prepare` was called."""
        ...

    def prepare(self) -> None:
        """Load the graph, at the first call. Raises ArtifactError."""
        ...

    def align(self, source_ids: Ints, source_keep: Flags, target_ids: Ints) -> Floats:
        """Alignment weights [batch, piece, source], which sum to one over the source. `source_ids` with EOS and
        `source_keep`: [batch, source]. `target_ids`: [batch, 1 + piece], with BOS, without EOS; any id may pad."""
        ...

    def align_encoded(self, encoded: Encoded, target_ids: Ints) -> Floats:
        """The same for one sentence that the backend has encoded without context: weights [piece, source] of
        `target_ids` [1 + piece]."""
        ...


def align_batch(
    aligner: Aligner, bos_id: int, max_length: int, pairs: Sequence[IdPair], start_length: int = 0
) -> list[Floats]:
    """The weights [piece, source] of every pair. The decoder reads the first `start_length` ids of a source, before the
    translation: their weights are zero. The model reads at most `max_length` target ids, BOS included; the weights of
    further pieces are zero."""
    cut = [(source[start_length:], _read_ids(source, target, max_length, start_length)) for source, target in pairs]
    sources = np.zeros((len(cut), max(len(source) for source, _ in cut)), np.int64)
    targets = np.full((len(cut), 1 + max(len(target) for _, target in cut)), bos_id, np.int64)
    keep = np.zeros(sources.shape, np.int32)
    for row, (source, target) in enumerate(cut):
        sources[row, : len(source)], targets[row, 1 : 1 + len(target)] = source, target
        keep[row, : len(source)] = 1
    batch = aligner.align(sources, keep, targets)
    weights: list[Floats] = [np.zeros((len(target), len(source)), np.float32) for source, target in pairs]
    for row, (source, target) in enumerate(cut):
        of_words = batch[row, start_length : len(target), : len(source)]
        weights[row][: len(of_words), start_length:] = of_words
    return weights


def align_one(
    aligner: Aligner, bos_id: int, max_length: int, pair: IdPair, encoded: Encoded, start_length: int = 0
) -> Floats:
    """As `align_batch` for a pair whose source is encoded."""
    source, target = pair
    read = _read_ids(source, target, max_length, start_length)
    given = aligner.align_encoded(encoded, np.array([bos_id, *read], np.int64))
    weights = np.zeros((len(target), len(source)), np.float32)
    of_words = given[start_length : len(read)]
    weights[: len(of_words), start_length:] = of_words
    return weights


def _read_ids(source: Sequence[int], target: Sequence[int], max_length: int, start_length: int) -> list[int]:
    """What the decoder reads after BOS."""
    return [*source[:start_length], *target][: max_length - 1]


def coverage_of(weights: Floats) -> tuple[float, ...]:
    """The coverage of each source piece: the largest of its `weights` [target piece, source piece]."""
    return tuple(weights.max(axis=0, initial=0).tolist())

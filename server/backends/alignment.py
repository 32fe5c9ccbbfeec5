"""The interface for alignments: which source pieces each piece of a translation comes from."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from server.backends.arrays import Flags, Floats, Ints

IdPair = tuple[Sequence[int], Sequence[int]]
"""A source with EOS, and its translation without."""


class CannotAlign(ValueError):
    """The model has no graph that aligns, or the runtime cannot run one."""


class Aligner(Protocol):
    """Runs the align graph of one artifact. Safe to call from several threads."""

    def prepare(self) -> None:
        """Load the graph that `align` needs, at the first call. Raises ArtifactError."""
        ...

    def align(self, source_ids: Ints, source_keep: Flags, target_ids: Ints) -> Floats:
        """Weights [batch, piece, source], which sum to one over the source, of `source_ids` with EOS and `source_keep`,
        both [batch, source], and `target_ids` [batch, 1 + piece], which begin with BOS and lack EOS. Any id may pad."""
        ...


def align_batch(aligner: Aligner, bos_id: int, longest: int, pairs: Sequence[IdPair]) -> list[Floats]:
    """The weights [piece, source] of every pair. The model reads `longest` target ids, BOS included: pieces beyond look
    at nothing, their weights are zero."""
    read = [(source, target[: longest - 1]) for source, target in pairs]
    sources = np.zeros((len(read), max(len(source) for source, _ in read)), np.int64)
    targets = np.full((len(read), 1 + max(len(target) for _, target in read)), bos_id, np.int64)
    keep = np.zeros(sources.shape, np.int32)
    for row, (source, target) in enumerate(read):
        sources[row, : len(source)], targets[row, 1 : 1 + len(target)] = source, target
        keep[row, : len(source)] = 1
    weights = aligner.align(sources, keep, targets)
    found: list[Floats] = [np.zeros((len(target), len(source)), np.float32) for source, target in pairs]
    for row, (source, target) in enumerate(read):
        found[row][: len(target)] = weights[row, : len(target), : len(source)]
    return found

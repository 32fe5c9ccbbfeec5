"""The seam for alignments: what the engine needs from a runtime to say which source pieces a translation's pieces come
from."""

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
        """Open what `align` needs: the first call takes as long as loading a graph. Raises ArtifactError."""
        ...

    def align(self, source_ids: Ints, source_keep: Flags, target_ids: Ints) -> Floats:
        """Sources with EOS and their keep mask [batch, source], their translations [batch, 1 + piece] from BOS on,
        without EOS, padded by anything -> weights [batch, piece, source], each row summing to one over its source."""
        ...


def align_batch(aligner: Aligner, bos_id: int, pairs: Sequence[IdPair]) -> list[Floats]:
    """The weights [piece, source] of every pair."""
    sources = np.zeros((len(pairs), max(len(source) for source, _ in pairs)), np.int64)
    targets = np.full((len(pairs), 1 + max(len(target) for _, target in pairs)), bos_id, np.int64)
    keep = np.zeros(sources.shape, np.int32)
    for row, (source, target) in enumerate(pairs):
        sources[row, : len(source)], targets[row, 1 : 1 + len(target)] = source, target
        keep[row, : len(source)] = 1
    weights = aligner.align(sources, keep, targets)
    return [weights[row, : len(target), : len(source)] for row, (source, target) in enumerate(pairs)]

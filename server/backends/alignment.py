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

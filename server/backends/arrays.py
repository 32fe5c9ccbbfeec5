"""Types of the NumPy arrays that graphs read and write."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Flags = NDArray[np.int32]
"""0 or 1: the type of a keep mask in attention kernels."""

Array = NDArray[Any]


def pad_ids(sources: Sequence[Sequence[int]]) -> tuple[Ints, Flags]:
    """Ids and keep mask [sentence, longest]."""
    width = max(map(len, sources))
    ids: Ints = np.zeros((len(sources), width), np.int64)
    keep: Flags = np.zeros((len(sources), width), np.int32)
    for row, source in enumerate(sources):
        ids[row, : len(source)] = source
        keep[row, : len(source)] = 1
    return ids, keep

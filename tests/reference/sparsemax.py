"""Sparsemax by its definition: every candidate support is tried, no sorting (Martins and Astudillo 2016, Eq. 1)."""

import itertools

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def sparsemax_by_search(energy: Array) -> Array:
    """Nearest point of the simplex to `energy` [key]: the best among the projections onto all its faces."""
    best, nearest = np.inf, np.zeros_like(energy)
    places = range(len(energy))
    for size in range(1, len(energy) + 1):
        for support in itertools.combinations(places, size):
            point = np.zeros_like(energy)
            tau = (sum(energy[i] for i in support) - 1) / size
            for i in support:
                point[i] = energy[i] - tau
            distance = float(((point - energy) ** 2).sum())
            if point.min() >= 0 and distance < best:
                best, nearest = distance, point
    return nearest


def sparsemax(energy: Array) -> Array:
    """The same by raising the threshold until one unit of mass is left: water-filling over [key]."""
    if len(energy) == 0:
        return energy
    low, high = float(energy.max()) - 1, float(energy.max())
    for _ in range(200):
        middle = (low + high) / 2
        if np.maximum(energy - middle, 0).sum() > 1:
            low = middle
        else:
            high = middle
    return np.maximum(energy - (low + high) / 2, 0)

"""N-gram masked self-attention in loops, written from Chelba et al. 2019, section 2, and Vaswani et al. 2017, Eq. 1."""

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def ngram_attention(query: Array, key: Array, value: Array, order: int | None) -> Array:
    """One head: query, key, value [length, head_dim]. Position i sees itself and the N-2 positions before it."""
    length, head_dim = query.shape
    out = np.zeros_like(value)
    for i in range(length):
        first = 0 if order is None else max(0, i - (order - 2))
        energies = [float(np.dot(query[i], key[j])) / math.sqrt(head_dim) for j in range(first, i + 1)]
        largest = max(energies)
        exponentials = [math.exp(energy - largest) for energy in energies]
        for j, exponential in zip(range(first, i + 1), exponentials, strict=True):
            out[i] += exponential / sum(exponentials) * value[j]
    return out

"""Multi-head attention of one query in loops, written from Vaswani et al. 2017, section 3.2.2.

The weights come by the names of a checkpoint; x_keys are the keys that the query sees, by rising position.
"""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Weights = Mapping[str, Array]


def linear(weights: Weights, name: str, x: Array) -> Array:
    return np.asarray(weights[f"{name}.weight"] @ x + weights[f"{name}.bias"])


def heads_of(x: Array, heads: int) -> Array:
    """[d] -> [heads, head_dim]"""
    return x.reshape(heads, -1)


def softmax(energies: list[float]) -> list[float]:
    largest = max(energies)
    exponentials = [math.exp(energy - largest) for energy in energies]
    return [exponential / sum(exponentials) for exponential in exponentials]


def energies_of(query: Array, keys: list[Array], heads: int) -> Array:
    """query [d], keys I x [d] -> q.k/sqrt(head_dim), [heads, I]"""
    q = heads_of(query, heads)
    rows = [
        [float(np.dot(q[h], heads_of(key, heads)[h])) / math.sqrt(q.shape[1]) for key in keys] for h in range(heads)
    ]
    return np.array(rows)


def keys_and_values(weights: Weights, x_keys: list[Array]) -> tuple[list[Array], list[Array]]:
    memory = [linear(weights, "memory", x) for x in x_keys]
    half = len(memory[0]) // 2
    return [row[:half] for row in memory], [row[half:] for row in memory]


def mix(weights: Weights, shares: list[list[float]], values: list[Array], heads: int) -> Array:
    """shares [heads][I] -> the output projection of the mixed values, [d]."""
    mixed = np.zeros_like(heads_of(values[0], heads))
    for h in range(heads):
        for share, value in zip(shares[h], values, strict=True):
            mixed[h] += share * heads_of(value, heads)[h]
    return linear(weights, "output", mixed.reshape(-1))


def attention(weights: Weights, x_query: Array, x_keys: list[Array], heads: int, added: Array | float = 0.0) -> Array:
    """Output [d] of one query; `added` [heads, I] goes onto the energies."""
    keys, values = keys_and_values(weights, x_keys)
    energies = energies_of(linear(weights, "query", x_query), keys, heads) + added
    return mix(weights, [softmax(list(row)) for row in energies], values, heads)

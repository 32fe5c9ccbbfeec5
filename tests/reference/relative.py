"""Relative positions in loops, written from Shaw et al. 2018, section 3.2, Eq. 3 and 4."""

import math

import numpy as np

from tests.reference.multi_head import Array, Weights, heads_of, keys_and_values, linear, softmax


def relative_attention(
    weights: Weights, x_query: Array, x_keys: list[Array], distances: list[int], heads: int, added: Array | None = None
) -> Array:
    """Output [d] of one query; distances[i] = position of key i - position of the query; cut at 16."""
    key_table, value_table = weights["terms.relative.rel_k"], weights["terms.relative.rel_v"]
    keys, values = keys_and_values(weights, x_keys)
    query = heads_of(linear(weights, "query", x_query), heads)
    rows = [16 + max(-16, min(16, distance)) for distance in distances]
    out = np.zeros_like(query)
    for h in range(heads):
        energies = []
        for i, row in enumerate(rows):
            key = heads_of(keys[i], heads)[h] + key_table[row]
            energies.append(float(np.dot(query[h], key)) / math.sqrt(len(key)))
            if added is not None:
                energies[-1] += added[h, i]
        for i, share in enumerate(softmax(energies)):
            out[h] += share * (heads_of(values[i], heads)[h] + value_table[rows[i]])
    return linear(weights, "output", out.reshape(-1))

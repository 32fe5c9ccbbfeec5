"""The differentiable window in loops, written from Nguyen et al. 2020, section 3, Eq. 7-17."""

import math

import numpy as np

from tests.reference.multi_head import Array, Weights, energies_of, keys_and_values, linear, mix, softmax


def halves(weights: Weights, name: str, x: Array) -> tuple[Array, Array]:
    left, right = np.split(linear(weights, name, x), 2)
    return left, right


def window_mask(left: list[float], right: list[float], segment: int | None) -> list[float]:
    """m of Eq. 9 as the matrix product with the triangle L (Eq. 9), or with the segments' J (Eq. 10-11)."""
    n, size = len(left), segment or 1
    before = [[float(i <= size * math.ceil(j / size)) for j in range(1, n + 1)] for i in range(1, n + 1)]
    # J transposed says for the suffix: the segment of i is not before that of j.
    after = [[before[j][i] for j in range(n)] for i in range(n)]
    mask = []
    for j in range(n):
        left_before = sum(left[i] * before[i][j] for i in range(n))
        right_before = sum(right[i] * before[i][j] for i in range(n))
        left_after = sum(left[i] * after[i][j] for i in range(n))
        right_after = sum(right[i] * after[i][j] for i in range(n))
        mask.append(left_before * right_after + right_before * left_after)
    return mask


def window_masks(weights: Weights, x_query: Array, x_keys: list[Array], heads: int, segment: int | None) -> Array:
    """m, [heads, I], of one query."""
    left_query, right_query = halves(weights, "boundary_query", x_query)
    keys = [halves(weights, "boundary_key", x) for x in x_keys]
    left = energies_of(left_query, [key[0] for key in keys], heads)
    right = energies_of(right_query, [key[1] for key in keys], heads)
    rows = [window_mask(softmax(list(left[h])), softmax(list(right[h])), segment) for h in range(heads)]
    return np.array(rows)


def window_attention(
    weights: Weights, x_query: Array, x_keys: list[Array], heads: int, mode: str, segment: int | None, renorm: bool
) -> Array:
    """Output [d] of one query that sees the keys given."""
    masks = window_masks(weights, x_query, x_keys, heads, segment)
    keys, values = keys_and_values(weights, x_keys)
    energies = energies_of(linear(weights, "query", x_query), keys, heads)
    if mode == "additive":
        local_keys = [linear(weights, "local_key", x) for x in x_keys]
        energies = energies + energies_of(linear(weights, "local_query", x_query), local_keys, heads) * masks
        return mix(weights, [softmax(list(row)) for row in energies], values, heads)
    shares = [[w * m for w, m in zip(softmax(list(energies[h])), masks[h], strict=True)] for h in range(heads)]
    if renorm:
        shares = [[share / sum(row) for share in row] for row in shares]
    return mix(weights, shares, values, heads)

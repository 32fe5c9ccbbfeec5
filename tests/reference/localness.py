"""The energies of Gaussian localness in loops, written from Yang et al. 2018, section 3, Eq. 4-11."""

import math

import numpy as np

from tests.reference.multi_head import Array, Weights, keys_and_values, linear


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def localness_energies(
    weights: Weights, x_query: Array, x_keys: list[Array], heads: int, window: str, coordinates: str
) -> Array:
    """G, [heads, I], of one query that sees I keys."""
    prefix, count = "terms.localness", len(x_keys)
    hidden = np.tanh(linear(weights, f"{prefix}.hidden", linear(weights, "query", x_query)))
    centers = linear(weights, f"{prefix}.center", hidden)
    energies = np.zeros((heads, count))
    for h in range(heads):
        match window:
            case "fixed":
                width = 10.0
            case "head":
                width = 50 * sigmoid(weights[f"{prefix}.head_window"][h]) + 0.1
            case "query":
                width = count * sigmoid(linear(weights, f"{prefix}.spread", hidden)[h]) + 0.1
            case "layer":
                mean = sum(keys_and_values(weights, x_keys)[0]) / np.float64(count)
                layer_hidden = np.tanh(linear(weights, f"{prefix}.mean_key", np.asarray(mean)))
                width = count * sigmoid(linear(weights, f"{prefix}.spread", layer_hidden)[h]) + 0.1
        for i in range(count):
            if coordinates == "paper":
                place, center = i + 1, count * sigmoid(centers[h])
            else:
                place, center = i, (count - 1) * sigmoid(centers[h])
            sigma = width / 2
            energies[h, i] = -((place - center) ** 2) / (2 * sigma**2)
    return energies

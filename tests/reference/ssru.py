"""The simpler simple recurrent unit in loops, written from Kim et al. 2019, section 3.1."""

import math

import numpy as np

from tests.reference.multi_head import Array, Weights, linear


def ssru(weights: Weights, inputs: list[Array]) -> list[Array]:
    """Outputs [d] of a target whose layer inputs are `inputs`, each [d]."""
    cell, out = np.zeros_like(inputs[0]), []
    for x in inputs:
        gate = linear(weights, "forget", x)
        value = weights["value.weight"] @ x
        for i in range(len(x)):
            forget = 1 / (1 + math.exp(-gate[i]))
            cell[i] = forget * cell[i] + (1 - forget) * value[i]
        out.append(np.array([max(0.0, c) for c in cell]))
    return out

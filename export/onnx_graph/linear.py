"""The arithmetic of int8, and the output projection at fp32 and int8.

int8: weights are symmetric per output channel; activations have levels of a fixed calibrated width. A
width per batch would make a sentence's result depend on its neighbours.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from export.onnx_graph.builder import MICROSOFT, GraphBuilder

Array = NDArray[np.float32]
SMALLEST_RANGE = np.float32(1e-8)
WEIGHT_LEVELS = 64
"""Weights take the levels -64 to 64. Processors without VNNI instructions add two products of an unsigned input (up to
255) and a weight in 16 bits: 2 x 255 x 64 fits, 2 x 255 x 127 saturates and gives a wrong sum. So all processors
compute the same integers."""

ROWS = 4096
"""Output channels that are quantized at a time."""


@dataclass(frozen=True)
class Levels:
    """The levels of unsigned 8-bit activations: the zero level, and the number of levels above it."""

    zero: np.uint8
    above_zero: int


SIGNED = Levels(np.uint8(128), 127)
RECTIFIED = Levels(np.uint8(0), 255)
OUTPUT = "embedding"
"""The output projection among the calibrated ranges."""


@dataclass(frozen=True)
class QuantizedWeight:
    """`values` int8 [out, in], within WEIGHT_LEVELS; `scale` fp32 [out]: weight = values * scale[:, None]."""

    values: NDArray[np.int8]
    scale: Array


def quantize_weight(weight: Array) -> QuantizedWeight:
    """Symmetric, per output channel (row of `weight` [out, in])."""
    largest = np.maximum(weight.max(axis=1), -weight.min(axis=1))
    scale = np.maximum(largest / WEIGHT_LEVELS, SMALLEST_RANGE).astype(np.float32)
    values = np.empty(weight.shape, np.int8)
    for first in range(0, len(weight), ROWS):  # 256,206 words have 1 GB, which would be copied four times
        rows = slice(first, first + ROWS)
        levels = np.round(weight[rows] / scale[rows, None])
        values[rows] = np.clip(levels, -WEIGHT_LEVELS, WEIGHT_LEVELS)
    return QuantizedWeight(values, scale)


def level_width(largest: float, levels: Levels) -> np.float32:
    """Width of one level where inputs go up to `largest`."""
    return np.float32(max(largest, float(SMALLEST_RANGE)) / levels.above_zero)


def fixed_product(
    graph: GraphBuilder, x: str, values: str, scale: Array, bias: str, step: np.float32, levels: Levels
) -> str:
    """x [..., in], quantized in levels of width `step`, times values int8 [in, out] and scale [out], plus `bias`, the
    name of a constant or ""."""
    width, zero = graph.constant(step), graph.constant(levels.zero)
    weight_zero = graph.constant(np.zeros(len(scale), np.int8))
    x8 = graph.op("QuantizeLinear", x, width, zero)
    inputs = [x8, values, width, graph.constant(scale), zero, weight_zero, *([bias] if bias else [])]
    return graph.op("MatMulIntegerToFloat", *inputs, domain=MICROSOFT)


class Projection(Protocol):
    """The part of a graph that computes logits from states x [..., d]: x @ weight.T, weight [vocabulary, d]."""

    def apply(self, graph: GraphBuilder, x: str, weight: Array, bias: Array) -> str:
        """x @ weight.T + bias, bias [vocabulary]."""
        ...

    def give_columns(self, graph: GraphBuilder, words: str, weight: Array, count: int) -> None:
        """Outputs of an encode graph: the projection's columns for words [batch, count], as shortlist.weight
        [batch, d, count] and the other inputs of `project_columns`."""
        ...

    def project_columns(self, graph: GraphBuilder, x: str, count: int, width: int) -> str:
        """x [slot, beam, width] times columns of each slot's own, inputs of the step graph -> [slot, beam, count]."""
        ...


class FloatProjection:
    """A linear map at fp32."""

    def apply(self, graph: GraphBuilder, x: str, weight: Array, bias: Array) -> str:
        """Transposed in the graph (folded at load), so that the rows can be shared with an embedding."""
        transposed = graph.op("Transpose", graph.constant(weight), perm=[1, 0])
        return graph.op("Add", graph.op("MatMul", x, transposed), graph.constant(bias))

    def give_columns(self, graph: GraphBuilder, words: str, weight: Array, count: int) -> None:
        rows = graph.op("Gather", graph.constant(weight), words)  # [batch, count, d]
        columns = graph.op("Transpose", rows, perm=[0, 2, 1])
        graph.output(columns, "shortlist.weight", "float32", ["batch", weight.shape[1], count])

    def project_columns(self, graph: GraphBuilder, x: str, count: int, width: int) -> str:
        return graph.op("MatMul", x, graph.input("shortlist.weight", "float32", ["slot", width, count]))


class Int8Projection:
    """int8 products with int32 sums; `largest` is the largest absolute state that calibration saw."""

    def __init__(self, largest: float) -> None:
        self.step = level_width(largest, SIGNED)

    def apply(self, graph: GraphBuilder, x: str, weight: Array, bias: Array) -> str:
        """Transposed in the graph (folded at load), so that the rows can be shared with an embedding."""
        quantized = quantize_weight(weight)
        values = graph.op("Transpose", graph.constant(quantized.values), perm=[1, 0])
        return fixed_product(graph, x, values, quantized.scale, graph.constant(bias), self.step, SIGNED)

    def give_columns(self, graph: GraphBuilder, words: str, weight: Array, count: int) -> None:
        quantized = quantize_weight(weight)
        rows = graph.op("Gather", graph.constant(quantized.values), words)
        columns = graph.op("Transpose", rows, perm=[0, 2, 1])
        graph.output(columns, "shortlist.weight", "int8", ["batch", weight.shape[1], count])
        scale = graph.op("Gather", graph.constant(quantized.scale), words)
        graph.output(graph.unsqueeze(scale, 1), "shortlist.scale", "float32", ["batch", 1, count])

    def project_columns(self, graph: GraphBuilder, x: str, count: int, width: int) -> str:
        columns = graph.input("shortlist.weight", "int8", ["slot", width, count])
        scale = graph.input("shortlist.scale", "float32", ["slot", 1, count])
        step, zero = graph.constant(self.step), graph.constant(SIGNED.zero)
        x8 = graph.op("QuantizeLinear", x, step, zero)
        return graph.op("MatMulIntegerToFloat", x8, columns, step, scale, zero, domain=MICROSOFT)


def projection_for(ranges: Mapping[str, float] | None) -> Projection:
    """A linear map at int8 where there are calibrated ranges, else at fp32."""
    return FloatProjection() if ranges is None else Int8Projection(ranges[OUTPUT])

"""Linear maps at fp32 and int8.

int8: weights symmetric per output channel; activations never per tensor of the batch (a sentence's result would then
depend on its neighbours) but either with a fixed calibrated scale or with one scale per row.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from export.onnx_graph.builder import MICROSOFT, GraphBuilder

Array = NDArray[np.float32]
SMALLEST_RANGE = np.float32(1e-8)


@dataclass(frozen=True)
class Levels:
    """How unsigned 8-bit activations are laid out: which level is zero, and how many lie above it."""

    zero: np.uint8
    above_zero: int


SIGNED = Levels(np.uint8(128), 127)
RECTIFIED = Levels(np.uint8(0), 255)


@dataclass(frozen=True)
class QuantizedWeight:
    """`values` int8 [out, in], `scale` fp32 [out]: weight = values * scale[:, None]."""

    values: NDArray[np.int8]
    scale: Array


def quantize_weight(weight: Array) -> QuantizedWeight:
    """Symmetric, per output channel (row of `weight` [out, in])."""
    scale = np.maximum(np.abs(weight).max(axis=1) / 127, SMALLEST_RANGE).astype(np.float32)
    values = np.clip(np.round(weight / scale[:, None]), -127, 127).astype(np.int8)
    return QuantizedWeight(values, scale)


class Linear(Protocol):
    """How x [..., in] becomes x @ weight.T + bias [..., out] in a graph. `site` names the map, for calibration."""

    def apply(self, graph: GraphBuilder, x: str, weight: Array, bias: Array, site: str) -> str: ...

    def apply_rectified(self, graph: GraphBuilder, x: str, weight: Array, bias: Array, site: str) -> str:
        """The same after a ReLU."""
        ...

    def embedding(self, graph: GraphBuilder, ids: str, weight: Array, factor: float) -> str:
        """Rows of weight [vocabulary, d] times `factor`."""
        ...

    def project(self, graph: GraphBuilder, x: str, weight: Array, bias: Array, site: str) -> str: ...

    def give_columns(self, graph: GraphBuilder, words: str, weight: Array, count: int, site: str) -> None:
        """Outputs of an encode graph: the projection's columns for words [batch, count], as shortlist.weight
        [batch, d, count] and what else `project_columns` reads."""
        ...

    def project_columns(self, graph: GraphBuilder, x: str, count: int, width: int, site: str) -> str:
        """x [slot, beam, width] times columns of each slot's own, inputs of the step graph -> [slot, beam, count]."""
        ...


class FloatLinear:
    """fp32 throughout."""

    def apply(self, graph: GraphBuilder, x: str, weight: Array, bias: Array, site: str) -> str:
        product = graph.op("MatMul", x, graph.constant(np.ascontiguousarray(weight.T)))
        return graph.op("Add", product, graph.constant(bias))

    def apply_rectified(self, graph: GraphBuilder, x: str, weight: Array, bias: Array, site: str) -> str:
        return self.apply(graph, graph.op("Relu", x), weight, bias, site)

    def embedding(self, graph: GraphBuilder, ids: str, weight: Array, factor: float) -> str:
        rows = graph.op("Gather", graph.constant(weight, "embedding"), ids)
        return graph.op("Mul", rows, graph.constant(np.float32(factor)))

    def project(self, graph: GraphBuilder, x: str, weight: Array, bias: Array, site: str) -> str:
        """The tied output projection: shares the constant of `embedding` (the transposition is folded at load)."""
        transposed = graph.op("Transpose", graph.constant(weight, "embedding"), perm=[1, 0])
        return graph.op("Add", graph.op("MatMul", x, transposed), graph.constant(bias))

    def give_columns(self, graph: GraphBuilder, words: str, weight: Array, count: int, site: str) -> None:
        rows = graph.op("Gather", graph.constant(weight, "embedding"), words)  # [batch, count, d]
        columns = graph.op("Transpose", rows, perm=[0, 2, 1])
        graph.output(columns, "shortlist.weight", "float32", ["batch", weight.shape[1], count])

    def project_columns(self, graph: GraphBuilder, x: str, count: int, width: int, site: str) -> str:
        return graph.op("MatMul", x, graph.input("shortlist.weight", "float32", ["slot", width, count]))


class Int8Linear:
    """int8 products with int32 sums.

    `input_ranges`: site -> largest absolute input that calibration saw; inputs of those sites are quantized with that
    fixed range, all others with the maximum of their own row.
    """

    def __init__(self, input_ranges: dict[str, float]) -> None:
        self.input_ranges = input_ranges

    def apply(self, graph: GraphBuilder, x: str, weight: Array, bias: Array, site: str) -> str:
        values, scale = self._weight(graph, weight)
        return self._product(graph, x, values, scale, bias, site, SIGNED)

    def apply_rectified(self, graph: GraphBuilder, x: str, weight: Array, bias: Array, site: str) -> str:
        """Quantizing to 0..255 from zero up cuts off what is negative: the ReLU costs nothing."""
        values, scale = self._weight(graph, weight)
        return self._product(graph, x, values, scale, bias, site, RECTIFIED)

    def embedding(self, graph: GraphBuilder, ids: str, weight: Array, factor: float) -> str:
        quantized = quantize_weight(weight)
        rows = graph.op("Gather", graph.constant(quantized.values, "embedding"), ids)
        scales = graph.constant((quantized.scale * np.float32(factor))[:, None], "embedding.scale")
        return graph.op("Mul", graph.op("Cast", rows, to=1), graph.op("Gather", scales, ids))

    def project(self, graph: GraphBuilder, x: str, weight: Array, bias: Array, site: str) -> str:
        """The tied output projection: its int8 rows are the embedding's (the transposition is folded at load)."""
        quantized = quantize_weight(weight)
        values = graph.op("Transpose", graph.constant(quantized.values, "embedding"), perm=[1, 0])
        return self._product(graph, x, values, quantized.scale, bias, site, SIGNED)

    def give_columns(self, graph: GraphBuilder, words: str, weight: Array, count: int, site: str) -> None:
        quantized = quantize_weight(weight)
        rows = graph.op("Gather", graph.constant(quantized.values, "embedding"), words)  # [batch, count, d]
        columns = graph.op("Transpose", rows, perm=[0, 2, 1])
        graph.output(columns, "shortlist.weight", "int8", ["batch", weight.shape[1], count])
        scale = graph.op("Gather", graph.constant(quantized.scale), words)
        graph.output(graph.unsqueeze(scale, 1), "shortlist.scale", "float32", ["batch", 1, count])

    def project_columns(self, graph: GraphBuilder, x: str, count: int, width: int, site: str) -> str:
        """Needs a calibrated range for `site`: KeyError."""
        columns = graph.input("shortlist.weight", "int8", ["slot", width, count])
        scale = graph.input("shortlist.scale", "float32", ["slot", 1, count])
        step, zero = graph.constant(self._step(site, SIGNED)), graph.constant(SIGNED.zero)
        x8 = graph.op("QuantizeLinear", x, step, zero)
        return graph.op("MatMulIntegerToFloat", x8, columns, step, scale, zero, domain=MICROSOFT)

    def _step(self, site: str, levels: Levels) -> np.float32:
        """Width of one level of a site with a fixed range."""
        return np.float32(max(self.input_ranges[site], float(SMALLEST_RANGE)) / levels.above_zero)

    def _weight(self, graph: GraphBuilder, weight: Array) -> tuple[str, Array]:
        quantized = quantize_weight(weight)
        return graph.constant(np.ascontiguousarray(quantized.values.T)), quantized.scale

    def _product(
        self, graph: GraphBuilder, x: str, values: str, scale: Array, bias: Array, site: str, levels: Levels
    ) -> str:
        """x [..., in] times values int8 [in, out], scaled per output channel."""
        largest = None
        if site in self.input_ranges:
            step = self._step(site, levels)
        else:
            positive = x if levels.zero == 0 else graph.op("Abs", x)
            largest = graph.op("ReduceMax", positive, graph.constant(np.array([-1], np.int64)), keepdims=1)
            largest = graph.op("Max", largest, graph.constant(SMALLEST_RANGE))
            x, step = graph.op("Div", x, largest), np.float32(1 / levels.above_zero)
        zero = graph.constant(levels.zero)
        x8 = graph.op("QuantizeLinear", x, graph.constant(step), zero)
        weight_zero = graph.constant(np.zeros(len(scale), np.int8))
        fixed_bias = [] if largest else [graph.constant(bias)]
        product = graph.op(
            "MatMulIntegerToFloat",
            x8, values, graph.constant(step), graph.constant(scale), zero, weight_zero,
            *fixed_bias,
            domain=MICROSOFT,
        )  # fmt: skip
        if largest is None:
            return product
        return graph.op("Add", graph.op("Mul", product, largest), graph.constant(bias))

"""Graphs with weights in half precision compute what they computed, bit for bit."""

import numpy as np
import onnxruntime
from onnx import TensorProto
from onnx.numpy_helper import to_array

from export.half_weights import halve_weights, is_exact_in_half
from export.onnx_graph.builder import GraphBuilder


def product(weight: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> GraphBuilder:
    graph = GraphBuilder("product")
    x = graph.input("x", "float32", ["rows", weight.shape[0]])
    graph.output(graph.op("MatMul", x, graph.constant(weight, "weight")), "y", "float32", ["rows", weight.shape[1]])
    return graph


def test_exact_weights_are_halved_and_the_results_are_the_same() -> None:
    generator = np.random.default_rng(0)
    weight = generator.normal(size=(64, 48)).astype(np.float16).astype(np.float32)
    before, after = product(weight).model(), halve_weights(product(weight).model())
    assert [tensor.data_type for tensor in after.graph.initializer] == [TensorProto.FLOAT16]
    assert len(after.SerializeToString()) < 0.6 * len(before.SerializeToString())
    feeds = {"x": generator.normal(size=(5, 64)).astype(np.float32)}
    results = [
        onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)[0]
        for model in (before, after)
    ]
    np.testing.assert_array_equal(*results)


def test_weights_that_would_be_rounded_stay() -> None:
    weight = np.random.default_rng(1).normal(size=(64, 48)).astype(np.float32)
    (kept,) = halve_weights(product(weight).model()).graph.initializer
    np.testing.assert_array_equal(to_array(kept), weight)
    assert not is_exact_in_half(np.array([70000.0], np.float32))


def test_small_constants_stay() -> None:
    (kept,) = halve_weights(product(np.ones((8, 8), np.float32)).model()).graph.initializer
    assert kept.data_type == TensorProto.FLOAT

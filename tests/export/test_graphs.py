"""Exported graphs against the PyTorch model, block by block and as a whole."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from export.manifest import GRAPHS, make_manifest
from export.onnx_graph import encode, step, weights
from export.onnx_graph.builder import GraphBuilder
from export.onnx_graph.linear import FloatLinear, Int8Linear, Linear, quantize_weight
from export.onnx_graph.weights import Weights
from export.onnx_writer import write_onnx
from export.parity import step_difference
from export.torchscript import write_torchscript
from model.translation_model import TranslationModel
from server.artifact import Artifact
from server.backends.load import load_backend
from tests.models import lively_model, tiny_config

D = 32


def run(
    build: Callable[[GraphBuilder], str], feeds: dict[str, NDArray[Any]], shapes: dict[str, list[str | int]]
) -> NDArray[Any]:
    """Run a graph of one block; `build` returns its result."""
    graph = GraphBuilder("block")
    for name, shape in shapes.items():
        graph.input(name, str(feeds[name].dtype), shape)
    graph.output(build(graph), "result", "float32", ["a", "b", "c"])
    session = onnxruntime.InferenceSession(graph.model().SerializeToString(), providers=["CPUExecutionProvider"])
    (result,) = session.run(["result"], feeds)
    return np.asarray(result)


def some_input(rows: int = 3, length: int = 5, width: int = D) -> NDArray[np.float32]:
    return np.random.default_rng(0).normal(size=(rows, length, width)).astype(np.float32)


def close(ours: NDArray[Any], expected: torch.Tensor) -> None:
    np.testing.assert_allclose(ours, expected.detach().numpy(), atol=1e-5)


def test_layer_norm(tiny_model: TranslationModel) -> None:
    x, of = some_input(), Weights.of(tiny_model)
    ours = run(lambda g: weights.layer_norm(g, "x", of, "encoder.norm"), {"x": x}, {"x": ["a", "b", D]})
    close(ours, tiny_model.encoder.norm(torch.from_numpy(x)))


def test_feed_forward(tiny_model: TranslationModel) -> None:
    x, of = some_input(), Weights.of(tiny_model)
    prefix = "encoder.layers.0.ffn"
    ours = run(lambda g: weights.feed_forward(g, FloatLinear(), "x", of, prefix), {"x": x}, {"x": ["a", "b", D]})
    close(ours, tiny_model.get_submodule(prefix)(torch.from_numpy(x)))


def test_source_embedding(tiny_model: TranslationModel) -> None:
    ids, of = np.array([[5, 9, 3], [7, 3, 0]]), Weights.of(tiny_model)
    ours = run(
        lambda g: encode.embed_source(g, FloatLinear(), "ids", tiny_model.config, of), {"ids": ids}, {"ids": ["a", "b"]}
    )
    close(ours, tiny_model.embedding(torch.from_numpy(ids), torch.arange(3)[None]))


def test_token_embedding_at_any_position(tiny_model: TranslationModel) -> None:
    token, position, of = np.array([[5, 9], [7, 3]]), np.array([0, 13]), Weights.of(tiny_model)
    ours = run(
        lambda g: step.embed_tokens(g, FloatLinear(), "token", "position", tiny_model.config, of),
        {"token": token, "position": position},
        {"token": ["a", "b"], "position": ["a"]},
    )
    close(ours, tiny_model.embedding(torch.from_numpy(token), torch.from_numpy(position)[:, None].expand(2, 2)))


def test_encoder_layer_on_a_padded_batch(tiny_model: TranslationModel) -> None:
    x, keep, of = some_input(2), np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]], np.int32), Weights.of(tiny_model)
    ours = run(
        lambda g: encode.encoder_layer(g, FloatLinear(), "x", "keep", tiny_model.config, of, "encoder.layers.1"),
        {"x": x, "keep": keep},
        {"x": ["a", "b", D], "keep": ["a", "b"]},
    )
    mask = torch.from_numpy(keep > 0)
    expected = tiny_model.encoder.layers[1](torch.from_numpy(x), mask[:, None, None], torch.arange(5)[None])
    close(ours[0], expected[0])
    close(ours[1, :2], expected[1, :2])


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 999), beam=st.integers(1, 4), ring_slot=st.integers(0, 2))
def test_ancestry_is_the_parents_but_for_the_slot_that_is_written(seed: int, beam: int, ring_slot: int) -> None:
    generator = np.random.default_rng(seed)
    ancestry = generator.integers(0, 2, (2, beam, 3 * beam)).astype(bool)
    parent = generator.integers(0, beam, (2, beam))
    own = np.zeros((beam, 3 * beam), bool)
    own[np.arange(beam), ring_slot * beam + np.arange(beam)] = True

    def build(graph: GraphBuilder) -> str:
        rows = graph.op("Add", "parent", "first_row")
        return graph.op("Cast", step.inherit_ancestry(graph, "ancestry", rows, "own", "kept"), to=1)

    feeds: dict[str, NDArray[Any]] = {
        "ancestry": ancestry,
        "parent": parent,
        "own": own,
        "kept": np.logical_not(own.any(axis=0)),
        "first_row": np.arange(2)[:, None] * beam,
    }
    shapes: dict[str, list[str | int]] = {
        "ancestry": ["a", "b", "c"], "parent": ["a", "b"], "own": ["b", "c"], "kept": ["c"], "first_row": ["a", 1],
    }  # fmt: skip
    ours = run(build, feeds, shapes) > 0
    for slot in range(2):
        for row in range(beam):
            expected = ancestry[slot, parent[slot, row]].copy()
            expected[ring_slot * beam : (ring_slot + 1) * beam] = False
            expected[ring_slot * beam + row] = True
            np.testing.assert_array_equal(ours[slot, row], expected)


@pytest.mark.parametrize("linear", [Int8Linear({}), Int8Linear({"site": 4.0})], ids=["range per row", "fixed range"])
@pytest.mark.parametrize("rectified", [False, True])
def test_int8_products_are_close_and_do_not_see_other_rows(linear: Linear, rectified: bool) -> None:
    generator = np.random.default_rng(1)
    weight = (generator.normal(size=(24, D)) / 6).astype(np.float32)
    bias = generator.normal(size=24).astype(np.float32)
    x = np.clip(some_input(1, 7), -4, 4)
    apply = linear.apply_rectified if rectified else linear.apply
    shapes: dict[str, list[str | int]] = {"x": ["a", "b", D]}
    ours = run(lambda g: apply(g, "x", weight, bias, "site"), {"x": x}, shapes)
    expected = (np.maximum(x, 0) if rectified else x) @ weight.T + bias
    assert np.abs(ours - expected).max() < 0.1
    assert np.abs(ours - expected).mean() < 0.02
    louder = np.concatenate([x[:, :1], 100 * x[:, 1:]], axis=1)
    np.testing.assert_array_equal(
        run(lambda g: apply(g, "x", weight, bias, "site"), {"x": louder}, shapes)[:, 0], ours[:, 0]
    )


def test_quantized_weights_lose_at_most_half_a_level() -> None:
    weight = some_input(1, 9)[0]
    quantized = quantize_weight(weight)
    error = np.abs(quantized.values * quantized.scale[:, None] - weight)
    assert (error <= quantized.scale[:, None] / 2 + 1e-7).all()
    assert np.abs(quantized.values).max() == 127


@pytest.mark.parametrize("order", [2, 4, 8, None])
def test_eager_onnx_and_torchscript_agree_after_several_wraps(order: int | None, tmp_path: Path) -> None:
    model = lively_model(tiny_config(ngram=order, max_length=40))
    graphs = (GRAPHS["onnx", "fp32"], GRAPHS["torchscript", "fp32"])
    manifest = make_manifest(model, "x", ("en", "de"), graphs, "", "", 1.0, {})
    write_onnx(model, graphs[0], {}, tmp_path)
    write_torchscript(model, manifest, tmp_path / graphs[1].encode, tmp_path / graphs[1].step)
    for graph in graphs:
        backend = load_backend(Artifact(tmp_path, manifest), graph.backend, "fp32")
        assert step_difference(model, backend, 30) < 1e-4

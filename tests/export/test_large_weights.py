"""Weights of any size are exported: more than 2 GiB of them fit into no protobuf message that is written or parsed, as
onnx's checker, its inference of types and torch's exporter do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper
from torch import nn

from export.onnx_graph.builder import GraphBuilder
from export.onnx_graph.exporter import export_module
from export.onnx_graph.linear import ROWS, SMALLEST_RANGE, WEIGHT_LEVELS, quantize_weight
from export.onnx_graph.weightless import SMALLEST, without_weights
from export.shared_weights import SharedWeights
from tests.models import lively_model, tiny_config, write_artifact

AXES = {"x": ("batch",), "y": ("batch",)}


def weights_of(model: onnx.ModelProto) -> list[str]:
    return [tensor.name for tensor in model.graph.initializer if len(tensor.raw_data) >= SMALLEST]


@pytest.mark.parametrize("ngram", [4, None])
def test_an_export_gives_no_weights_to_what_copies_them(
    ngram: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = list[int]()

    def spied(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(model: onnx.ModelProto | bytes, *arguments: Any, **options: Any) -> Any:
            parsed = onnx.ModelProto.FromString(model) if isinstance(model, bytes) else model
            assert not weights_of(parsed)
            sizes.append(parsed.ByteSize())
            return function(model, *arguments, **options)

        return call

    monkeypatch.setattr(onnx.checker, "check_model", spied(onnx.checker.check_model))
    monkeypatch.setattr(onnx.shape_inference, "infer_shapes", spied(onnx.shape_inference.infer_shapes))
    monkeypatch.setattr(onnx, "load_from_string", spied(onnx.load_from_string))
    write_artifact(lively_model(tiny_config(ngram=ngram)), tmp_path)
    assert len(sizes) > 10


def test_exported_weights_keep_their_names_and_values() -> None:
    """Equal ones, those of a module that is used twice and buffers, without those that nobody reads."""

    class Module(nn.Module):
        table: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.first = self.again = nn.Linear(8, 8)
            self.second = nn.Linear(8, 8)
            self.second.load_state_dict(self.first.state_dict())
            self.unread = nn.Linear(8, 8)
            self.register_buffer("table", torch.arange(8.0))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.second(self.again(self.first(x)))
            return y + self.table

    module = Module()
    model = export_module(module, (torch.randn(2, 8),), {"x": AXES["x"]}, {"y": AXES["y"]})
    found = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    expected = {**dict(module.named_parameters()), "table": module.table}
    assert set(found) == {name for name in expected if not name.startswith("unread")}
    for name, values in found.items():
        np.testing.assert_array_equal(values, expected[name].detach().numpy())
    assert [tensor.name for tensor in model.graph.input] == ["x"]


def test_a_graph_without_weights_is_still_checked() -> None:
    graph = GraphBuilder("wrong")
    x = graph.input("x", "float32", ["row", 64])
    weight = graph.constant(np.zeros((64, 64), np.float32))
    graph.output(graph.op("MatMul", x, weight, colour=1), "y", "float32", ["row", 64])
    with pytest.raises(onnx.checker.ValidationError, match="colour"):
        graph.model()


def test_weights_outside_leave_the_model_as_it_was(tmp_path: Path) -> None:
    graph = GraphBuilder("sum")
    x = graph.input("x", "float32", ["row", 64])
    graph.output(graph.op("MatMul", x, graph.constant(np.eye(64, dtype=np.float32))), "y", "float32", ["row", 64])
    model = graph.model()
    before = model.SerializeToString()
    with SharedWeights(tmp_path / "weights.bin") as weights:
        outside = weights.outside(model)
    assert model.SerializeToString() == before
    assert weights_of(model)
    assert not weights_of(outside)
    assert not weights_of(without_weights(outside))
    (tmp_path / "sum.onnx").write_bytes(outside.SerializeToString())
    again = onnx.load(tmp_path / "sum.onnx")
    assert again.graph.node == model.graph.node
    [theirs], [ours] = again.graph.initializer, model.graph.initializer
    assert (theirs.name, theirs.raw_data) == (ours.name, ours.raw_data)


@pytest.mark.parametrize("rows", [1, ROWS, 2 * ROWS + 3])
def test_rows_are_quantized_alone(rows: int) -> None:
    weight = np.random.default_rng(rows).normal(size=(rows, 4)).astype(np.float32)
    weight[0] = 0
    scale = np.maximum(np.abs(weight).max(axis=1) / WEIGHT_LEVELS, SMALLEST_RANGE).astype(np.float32)
    plain = np.clip(np.round(weight / scale[:, None]), -WEIGHT_LEVELS, WEIGHT_LEVELS).astype(np.int8)
    ours = quantize_weight(weight)
    np.testing.assert_array_equal(ours.values, plain)
    np.testing.assert_array_equal(ours.scale, scale)

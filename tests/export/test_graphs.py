"""Exported graphs against the PyTorch model, as a whole, and the ancestry of rows."""

import dataclasses
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from export.graphs import inherit_ancestry
from export.manifest import GRAPHS, make_manifest
from export.onnx_graph.exporter import Axes, export_module
from export.onnx_writer import write_onnx
from export.parity import step_difference
from export.signature import with_signatures
from export.torchscript_writer import write_torchscript
from server.artifact.artifact import Artifact
from server.backends.load import load_backend
from tests.models import lively_model, tiny_config


class Inherit(nn.Module):
    def forward(self, ancestry: Tensor, rows: Tensor, own_key: Tensor, kept_key: Tensor) -> Tensor:
        return inherit_ancestry(ancestry, rows, own_key, kept_key)


@pytest.fixture(scope="module")
def inherit() -> onnxruntime.InferenceSession:
    axes: Axes = {
        "ancestry": ("slot", "beam", "entry"), "rows": ("slot", "beam"), "own_key": ("slot", "beam", "entry"),
        "kept_key": ("slot", None, "entry"),
    }  # fmt: skip
    zeros = (torch.zeros(2, 3, 6), torch.zeros(2, 3), torch.zeros(2, 3, 6), torch.zeros(2, 1, 6))
    arguments = tuple(tensor.long() if index == 1 else tensor > 0 for index, tensor in enumerate(zeros))
    model = export_module(Inherit(), arguments, axes, {"next": axes["ancestry"]})
    assert [node.op_type for node in model.graph.node] == ["Flatten", "Gather", "And", "Or"]
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 999), beam=st.integers(1, 4), ring_slots=st.tuples(*[st.integers(0, 2)] * 2))
def test_ancestry_is_the_parents_but_for_the_slot_that_is_written(
    inherit: onnxruntime.InferenceSession, seed: int, beam: int, ring_slots: tuple[int, int]
) -> None:
    generator = np.random.default_rng(seed)
    ancestry = generator.integers(0, 2, (2, beam, 3 * beam)).astype(bool)
    parent = generator.integers(0, beam, (2, beam))
    own = np.zeros((2, beam, 3 * beam), bool)
    for slot, ring_slot in enumerate(ring_slots):
        own[slot, np.arange(beam), ring_slot * beam + np.arange(beam)] = True
    rows, kept = parent + np.arange(2)[:, None] * beam, np.logical_not(own.any(axis=1, keepdims=True))
    arrays = (ancestry, rows, own, kept)
    eager = inherit_ancestry(*(torch.from_numpy(array) for array in arrays)).numpy()
    (ours,) = inherit.run(None, dict(zip(("ancestry", "rows", "own_key", "kept_key"), arrays, strict=True)))
    np.testing.assert_array_equal(ours, eager)
    for slot, ring_slot in enumerate(ring_slots):
        for row in range(beam):
            expected = ancestry[slot, parent[slot, row]].copy()
            expected[ring_slot * beam : (ring_slot + 1) * beam] = False
            expected[ring_slot * beam + row] = True
            np.testing.assert_array_equal(ours[slot, row], expected)


@pytest.mark.parametrize("order", [2, 4, 8, None])
def test_eager_onnx_and_torchscript_agree_after_several_wraps(order: int | None, tmp_path: Path) -> None:
    model = lively_model(tiny_config(ngram=order, max_length=40))
    graphs = tuple(dataclasses.replace(GRAPHS[kind, "fp32"], score="", align="") for kind in ("onnx", "torchscript"))
    manifest = make_manifest(model, "x", ("en", "de"), graphs, "", "", 1.0, {})
    write_onnx(model, manifest, graphs[0], {}, tmp_path)
    write_torchscript(model, manifest, graphs[1], tmp_path)
    artifact = Artifact(tmp_path, with_signatures(manifest, tmp_path))
    for graph in graphs:
        backend = load_backend(artifact, graph.format, "fp32")
        assert step_difference(model, backend, 30) < 1e-4

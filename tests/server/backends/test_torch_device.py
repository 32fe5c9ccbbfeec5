"""The torch backend on a device: tensors stay there, and translations are those of the reference."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from export.artifact_writer import write_graph
from export.manifest import graph_files, make_manifest
from export.parity import step_difference
from export.signature import with_signatures
from model.reference_search import reference_search
from server.artifact.artifact import Artifact
from server.artifact.manifest import ArtifactError
from server.backends.load import load_backend
from server.backends.torchscript.backend import TorchScriptBackend
from server.backends.torchscript.device import ON_CPU, find_device
from server.backends.torchscript.graph import load_graph
from server.backends.torchscript.memory import Place, TorchMemory
from server.backends.torchscript.step import DeviceStep
from server.engine.request import SearchOptions
from tests.server.backends.torch_devices import DEVICES
from tests.server.engine.runs import translate
from tests.variants import RECURRENT, VARIANTS, lively_variant

META = torch.device("meta")
HALF = {"fp16": 0.1, "bf16": 1.0}
"""Precision -> largest difference of a cumulative log-probability after ten steps, in nats; 1e-4 is allowed at fp32."""


def artifact_of(name: str, folder: Path) -> Artifact:
    model = lively_variant(name)
    graph = dataclasses.replace(graph_files("torchscript", "fp32"))
    manifest = make_manifest(model, "x", ("en", "de"), (graph,), "", "", 1.0, {})
    write_graph(model, manifest, graph, {}, folder)
    return Artifact(folder, with_signatures(manifest, folder))


@pytest.mark.parametrize("name", VARIANTS | RECURRENT)
def test_a_step_is_on_its_device_as_a_whole(name: str, tmp_path: Path) -> None:
    """Tensors on `meta` have shapes and no values, and do not mix with others."""
    artifact = artifact_of(name, tmp_path)
    files = artifact.manifest.graph("torchscript", "fp32")
    for dtype in (torch.float16, torch.float32):
        backend = TorchScriptBackend.__new__(TorchScriptBackend)
        encode, step = (
            (load_graph(tmp_path / file, META, dtype), artifact.manifest.signature(file))
            for file in (files.encode, files.step)
        )
        backend._set(artifact.manifest, ON_CPU, Place(META, dtype), encode, step)
        state = backend.new_state(4, 2, 9)
        assert isinstance(state.memory, TorchMemory)
        for slot, sentence in enumerate(backend.encode(np.full((3, 7), 5), np.ones((3, 7), np.int32))):
            state.admit(slot, sentence, 2, 2)
        with torch.inference_mode():
            state.memory.settle()
            DeviceStep(*step, state, state.memory).compute()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["gauss-query-relative", "mw", "aw", "ssru-below"])
def test_every_kind_of_attention_finds_what_the_reference_finds(name: str, device: str, tmp_path: Path) -> None:
    backend = TorchScriptBackend(artifact_of(name, tmp_path), "fp32", device)
    sources = [(5, 6, 7, 3), (*range(20, 37), 3), (9, 3), (*range(40, 60), 3), (8, 7, 3)]
    model = lively_variant(name)
    for source, result in zip(sources, translate(backend, sources, SearchOptions(3, max_length=30)), strict=True):
        (expected,) = reference_search(model, list(source), beam_size=3, max_length=30)
        assert tuple(result.hypotheses[0].ids) == expected.ids
        assert result.hypotheses[0].normalized_score == pytest.approx(expected.normalized_score, abs=1e-4)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("precision", HALF)
@pytest.mark.parametrize("name", ["plain", "gauss-query-relative"])
def test_half_precision_is_close(name: str, precision: str, device: str, tmp_path: Path) -> None:
    backend = TorchScriptBackend(artifact_of(name, tmp_path), precision, device)
    difference = step_difference(lively_variant(name), backend, 10)
    print(name, precision, device, difference)
    assert 1e-4 < difference < HALF[precision]


@pytest.mark.parametrize(
    ("device", "advice"),
    [("cuda:77", "finds no device cuda:77.*serve with --device cpu"), ("mps", "finds no device mps")],
)
def test_a_device_that_is_not_there_is_an_error(tiny_artifact: Path, device: str, advice: str) -> None:
    with pytest.raises(ArtifactError, match=advice):
        load_backend(Artifact.load(tiny_artifact), "torchscript", "fp32", "off", device)


def test_devices_are_objects() -> None:
    cpu = find_device("cpu")
    assert (cpu.kind, cpu.name, cpu.engines, "fp16" in cpu.precisions) == ("cpu", "cpu", None, True)


def test_rings_stay_on_the_device(tiny_artifact: Path) -> None:
    """The arrays of the host have neither rings nor ancestry; the device has both after a step."""
    backend = TorchScriptBackend(Artifact.load(tiny_artifact), "bf16", DEVICES[-1])
    state = backend.new_state(2, 2, 8)
    memory = state.memory
    assert isinstance(memory, TorchMemory)
    (sentence,) = backend.encode(np.array([[5, 6, 7, 3]]), np.ones((1, 4), np.int32))
    assert not sentence.tensors
    state.admit(0, sentence, 2, 2)
    backend.bind(state)()
    ring = memory.tensors[backend.manifest.ring_tensors[0]]
    assert ring.dtype == torch.bfloat16
    assert ring[0].any()
    assert state.current.ancestry.size == state.own_key.size == 0
    assert memory.ancestry[0].any()
    assert memory.ring_bytes == sum(memory.tensors[name].nbytes for name in backend.manifest.ring_tensors)

"""Graphs of PyTorch on other devices: every tensor that a step makes is on its device."""

from pathlib import Path

import numpy as np
import pytest
import torch

from export.artifact_writer import write_graph
from export.manifest import graph_files, make_manifest
from export.signature import with_signatures
from server.artifact.artifact import Artifact
from server.artifact.manifest import ArtifactError
from server.backends.load import load_backend
from server.backends.torchscript.backend import TorchScriptBackend
from server.backends.torchscript.graph import load_graph
from server.backends.torchscript.memory import Place, TorchMemory
from server.backends.torchscript.device import ON_CPU
from server.backends.torchscript.step import DeviceStep
from tests.variants import RECURRENT, VARIANTS, lively_variant

META = torch.device("meta")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", VARIANTS | RECURRENT)
def test_a_step_is_on_its_device_as_a_whole(name: str, dtype: torch.dtype, tmp_path: Path) -> None:
    """Tensors on `meta` have shapes and no values, and do not mix with others."""
    model = lively_variant(name)
    graph = graph_files("torchscript", "fp32")
    manifest = make_manifest(model, "x", ("en", "de"), (graph,), "", "", 1.0, {})
    write_graph(model, manifest, graph, {}, tmp_path)
    manifest = with_signatures(manifest, tmp_path)
    place = Place(META, dtype)
    backend = TorchScriptBackend.__new__(TorchScriptBackend)
    backend._set(
        manifest, ON_CPU, place,
        *((load_graph(tmp_path / file, META, dtype), manifest.signature(file)) for file in (graph.encode, graph.step)),
    )
    sentences = backend.encode(np.full((3, 7), 5), np.ones((3, 7), np.int32))
    state = backend.new_state(4, 2, 9)
    memory = state.memory
    assert isinstance(memory, TorchMemory)
    for slot, sentence in enumerate(sentences):
        state.admit(slot, sentence, 2, 2)
    step = DeviceStep(backend._step, backend._signature, state, memory)
    with torch.inference_mode():
        step.compute()

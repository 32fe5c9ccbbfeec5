"""The torch backend on a device: tensors stay there, and translations are those of the reference."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from export.parity import step_difference
from model.reference_search import reference_search
from server.artifact.artifact import Artifact
from server.artifact.manifest import ArtifactError
from server.backends.load import load_backend
from server.backends.torchscript.backend import TorchScriptBackend
from server.backends.torchscript.device import ON_CPU, check_precision, find_device
from server.backends.torchscript.graph import Loader, move_weights
from server.backends.torchscript.memory import TorchMemory
from server.backends.torchscript.place import Place
from server.backends.torchscript.step import DeviceStep
from server.engine.request import SearchOptions, SentenceRequest
from server.engine.worker import EngineWorker
from server.settings import EngineSettings
from server.telemetry.metrics import Metrics
from tests.graphs import write_graphs
from tests.server.backends.torch_devices import DEVICES
from tests.server.engine.runs import translate
from tests.variants import RECURRENT, VARIANTS, few_layers, lively_variant

META = torch.device("meta")
HALF = {"fp16": 0.1, "bf16": 1.0}
"""Precision -> largest difference of a cumulative log-probability after ten steps, in nats; 1e-4 is allowed at fp32."""


ArtifactOf = Callable[[str], Artifact]


@pytest.fixture(scope="module")
def artifact_of(tmp_path_factory: pytest.TempPathFactory) -> ArtifactOf:
    """Name of a variant -> its graphs, traced once."""

    @cache
    def traced(name: str) -> Artifact:
        model = lively_variant(name, **few_layers(name))
        return write_graphs(model, tmp_path_factory.mktemp(name), ("torchscript", "fp32"), score=True, align=True)

    return traced


@pytest.mark.parametrize("name", VARIANTS | RECURRENT)
def test_a_step_is_on_its_device_as_a_whole(name: str, artifact_of: ArtifactOf) -> None:
    """Tensors on `meta` have shapes and no values, and do not mix with others."""
    artifact = artifact_of(name)
    files = artifact.manifest.graph("torchscript", "fp32")
    backend = TorchScriptBackend.__new__(TorchScriptBackend)
    place = Place(META, torch.float16)
    loader = Loader(artifact, place, files.encode, files.step)
    backend._set(artifact.manifest, ON_CPU, loader.encode, loader.step)
    scoring = loader.load(files.score)
    backend._scoring_steps.append(scoring)
    for scores, each in ((False, loader.step), (True, scoring)):
        state = backend.new_state(4, 2, 9, scores=scores)
        assert isinstance(state.memory, TorchMemory)
        for slot, sentence in enumerate(backend.encode(np.full((3, 7), 5), np.ones((3, 7), np.int32))):
            state.admit(slot, sentence, 2, 2)
        with torch.inference_mode():
            state.memory.settle()
            DeviceStep(each.graph, each.signature, state, state.memory).compute()
    align = loader.load(files.align)
    sizes = dict.fromkeys(("batch", "target", "source"), 3)
    align({each.name: place.zeros(each.shape(sizes), each.dtype) for each in align.signature.inputs})


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["gauss-query-relative", "mw", "aw", "ssru-below"])
def test_every_kind_of_attention_finds_what_the_reference_finds(
    name: str, device: str, artifact_of: ArtifactOf
) -> None:
    backend = TorchScriptBackend(artifact_of(name), "fp32", device)
    sources = [(5, 6, 7, 3), (*range(20, 37), 3), (9, 3), (*range(40, 60), 3), (8, 7, 3)]
    model = lively_variant(name, **few_layers(name))
    for source, result in zip(sources, translate(backend, sources, SearchOptions(3, max_length=30)), strict=True):
        (expected,) = reference_search(model, list(source), beam_size=3, max_length=30)
        assert tuple(result.hypotheses[0].ids) == expected.ids
        assert result.hypotheses[0].normalized_score == pytest.approx(expected.normalized_score, abs=1e-4)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("precision", HALF)
@pytest.mark.parametrize("name", ["plain", "gauss-query-relative"])
def test_half_precision_is_close(name: str, precision: str, device: str, artifact_of: ArtifactOf) -> None:
    backend = TorchScriptBackend(artifact_of(name), precision, device)
    difference = step_difference(lively_variant(name, **few_layers(name)), backend, 10)
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


@pytest.mark.parametrize("device", DEVICES)
def test_an_engine_starts_at_half_precision(tiny_artifact: Path, device: str) -> None:
    """The goldens of fp32 test it. One engine runs on a GPU, whatever the settings say."""
    settings = EngineSettings(slots=4, num_workers=2, backend="torchscript", precision="fp16", device=device)
    worker = EngineWorker.load(Artifact.load(tiny_artifact), settings, Metrics())
    worker.start()
    try:
        request = SentenceRequest((5, 6, 7, 3), SearchOptions(2, max_length=20))
        worker.submit(request)
        assert request.future.result(timeout=60).hypotheses[0].ids
        assert len(worker._threads) == (2 if device == "cpu" else 1)
    finally:
        worker.stop()


def test_a_precision_that_a_device_has_not_is_an_error(tiny_artifact: Path) -> None:
    with pytest.raises(ArtifactError, match="no torchscript graphs at int8"):
        load_backend(Artifact.load(tiny_artifact), "torchscript", "int8")
    with pytest.raises(ArtifactError, match="fp32, fp16, bf16 on cpu, not at int8: choose"):
        check_precision(find_device("cpu"), "int8")


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


@pytest.mark.parametrize("device", DEVICES)
def test_sentences_move_before_their_first_step(tiny_artifact: Path, device: str) -> None:
    """A batch may be resized between the admission of a sentence and its first step."""
    backend = TorchScriptBackend(Artifact.load(tiny_artifact), "fp32", device)
    first, moved, direct = (backend.new_state(slots, 2, 8) for slots in (3, 1, 1))
    (sentence,) = backend.encode(np.array([[5, 6, 7, 3]]), np.ones((1, 4), np.int32))
    first.admit(2, sentence, 2, 2)
    moved.copy_slots(first, [2])
    direct.admit(0, sentence, 2, 2)
    for state in (moved, direct):
        backend.bind(state)()
    np.testing.assert_array_equal(moved.candidates.token, direct.candidates.token)
    np.testing.assert_array_equal(moved.candidates.score, direct.candidates.score)


class Overlapping(torch.nn.Module):
    """Buffers that begin at the same place: a whole, its first half, the whole again, and two without any value."""

    def __init__(self) -> None:
        super().__init__()
        whole = torch.arange(4.0)
        for name, tensor in (("whole", whole), ("first_half", whole[:2]), ("again", whole)):
            self.register_buffer(name, tensor)
        self.register_buffer("none", torch.zeros(0))
        self.register_buffer("no_ids", torch.zeros((2, 0), dtype=torch.int64))

    def forward(self) -> list[torch.Tensor]:
        return [self.whole, self.first_half, self.again, self.none, self.no_ids]  # type: ignore[list-item]


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
def test_weights_that_begin_at_the_same_place_keep_their_shapes() -> None:
    module = torch.jit.script(Overlapping())
    move_weights(module, torch.device("cpu"), torch.float16)
    whole, half, again, none, no_ids = module()
    assert (whole.tolist(), half.tolist(), none.shape) == ([0, 1, 2, 3], [0, 1], (0,))
    assert (whole.dtype, half.dtype, no_ids.dtype, no_ids.shape) == (torch.float16, torch.float16, torch.int64, (2, 0))
    assert again.data_ptr() == whole.data_ptr(), "weights that are the same stay the same"

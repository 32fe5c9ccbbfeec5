"""Memory on a device: the binding code of a GPU, on the CPU provider, beside memory in NumPy arrays."""

import random
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.artifact.artifact import Artifact
from server.artifact.manifest import ArtifactError
from server.backends.context import SentenceContext, full_context
from server.backends.load import load_backend
from server.backends.onnx.backend import OnnxBackend
from server.backends.onnx.binding import DeviceMemory
from server.engine.request import SearchOptions, SentenceRequest
from server.scheduling.caller import Service
from tests.server.engine.runs import Arrival, new_engine, play, random_source, run


def pair(folder: Path, use_shortlist: bool = False) -> tuple[OnnxBackend, OnnxBackend]:
    """The same graphs with memory on the host and on a device."""
    artifact = Artifact.load(folder)
    host, device = (
        OnnxBackend(artifact, "int8", use_shortlist, memory_on_device=on_device) for on_device in (False, True)
    )
    return host, device


def arrivals(seed: int, contexts: list[SentenceContext | None]) -> list[Arrival]:
    """Sentences that come and go, so that batches grow, shrink and move."""
    generator = random.Random(seed)
    return [
        Arrival(
            step=generator.randrange(25),
            source=random_source(generator),
            options=SearchOptions(beam_size=generator.choice([1, 3, 4]), max_length=generator.choice([5, 24])),
            cancel_after=generator.choice([None, None, None, generator.randrange(15)]),
            context=generator.choice(contexts),
            service=Service.BACKGROUND,
        )
        for _ in range(16)
    ]


def outcome(request: SentenceRequest) -> str:
    """Without its timings."""
    error = request.future.exception(timeout=0)
    return str(error) if error is not None else str(request.future.result().hypotheses)


@settings(deadline=None, max_examples=4)
@given(seed=st.integers(0, 1000), use_shortlist=st.booleans())
def test_memory_on_a_device_gives_the_same_translations(tiny_artifact: Path, seed: int, use_shortlist: bool) -> None:
    schedule = arrivals(seed, [None])
    on_host, on_device = (play(backend, schedule, slots=5) for backend in pair(tiny_artifact, use_shortlist))
    assert [outcome(item) for item in on_host] == [outcome(item) for item in on_device]


def test_documents_on_a_device_are_the_same(document_artifacts: dict[str, Path]) -> None:
    """On the decoder's side every step reads the slot's document, whose room grows."""
    host, device = pair(document_artifacts["decoder"])
    assert host.context is not None
    states = [host.context.compute_states((5, 6, 7, 3), (8, 9, 10, 11)) for _ in range(5)]
    contexts = [None, full_context(states[:1], [4]), full_context(states, [4] * 5)]
    schedule = arrivals(3, contexts)
    on_host, on_device = (play(backend, schedule, slots=4) for backend in (host, device))
    assert [outcome(item) for item in on_host] == [outcome(item) for item in on_device]


def test_scores_from_a_device_are_the_same(tiny_artifact: Path) -> None:
    results = []
    for backend in pair(tiny_artifact, use_shortlist=True):
        backend.prepare_scores()
        engine = new_engine(backend)
        targets = ((5, 6, 7, 3), (8, 3), (*range(10, 30), 3))
        request = SentenceRequest((5, 6, 3), SearchOptions(3, max_length=64), targets=targets)
        engine.queue.put([request])
        run(engine)
        results.append([hypothesis.log_probabilities for hypothesis in request.future.result(timeout=0).hypotheses])
    assert results[0] == results[1]


def test_rings_stay_on_the_device(tiny_artifact: Path) -> None:
    """A step writes the device's rings, and nothing of them comes back to the host."""
    _, backend = pair(tiny_artifact)
    state = backend.new_state(1, 2, 8)
    memory = state.memory
    assert isinstance(memory, DeviceMemory)
    (sentence,) = backend.encode(np.array([[5, 6, 7, 3]]), np.ones((1, 4), np.int32))
    state.admit(0, sentence, 2, 2)
    backend.bind(state)()
    name = backend.manifest.ring_tensors[0]
    assert memory.values[name].numpy().any()
    assert not memory.arrays[name].any()
    assert memory.ring_bytes == sum(memory.values[ring].numpy().nbytes for ring in backend.manifest.ring_tensors)


def test_a_device_that_is_not_there_is_an_error_and_not_the_cpu(tiny_artifact: Path) -> None:
    """onnxruntime itself would take the CPU and say so in its log only."""
    artifact = Artifact.load(tiny_artifact)
    if starts_on_cuda(artifact.path("step.fp32.onnx")):
        assert isinstance(load_backend(artifact, "onnx", "fp32", "off", "cuda"), OnnxBackend)
        return
    has_provider = "CUDAExecutionProvider" in onnxruntime.get_available_providers()
    expected = "could not start it" if has_provider else "install onnxruntime-gpu"
    with pytest.raises(ArtifactError, match=f"{expected}.*--device cpu"):
        load_backend(artifact, "onnx", "fp32", "off", "cuda")


def starts_on_cuda(graph: Path) -> bool:
    """Whether this machine has a GPU that onnxruntime can use."""
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        return False
    providers = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    return "CUDAExecutionProvider" in onnxruntime.InferenceSession(str(graph), providers=providers).get_providers()


def test_onnx_runtime_takes_no_other_device(tiny_artifact: Path) -> None:
    with pytest.raises(ArtifactError, match="cpu and cuda, not on cuda:1: serve with --backend torchscript"):
        load_backend(Artifact.load(tiny_artifact), "onnx", "fp32", "off", "cuda:1")

"""Threads that compute each step of a model together."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.artifact.artifact import Artifact
from server.artifact.manifest import Manifest
from server.backends.load import load_backend
from server.backends.onnx.backend import OnnxBackend
from server.engine.devices import intra_threads
from server.engine.request import Hypothesis, SearchOptions, SentenceRequest
from server.engine.worker import EngineWorker
from server.runtime.setting_fields import SettingsError
from server.settings import EngineSettings
from server.telemetry.metrics import Metrics
from tests.graphs import write_graphs
from tests.models import lively_model, tiny_config
from tests.server.engine.test_engine import some_sources

PRECISIONS: tuple[Literal["int8", "fp32"], ...] = ("int8", "fp32")


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    """Wide enough for ONNX Runtime to divide the products of a few rows."""
    config = tiny_config(d_model=128, num_heads=4, ffn_dim=512, ngram=None)
    folder = tmp_path_factory.mktemp("threads")
    return write_graphs(lively_model(config), folder, *(("onnx", precision) for precision in PRECISIONS), score=True)


def translations(worker: EngineWorker, sources: Sequence[tuple[int, ...]]) -> list[list[Hypothesis]]:
    requests = [SentenceRequest(source, SearchOptions(4, max_length=24)) for source in sources]
    worker.submit_all(requests)
    return [list(request.future.result(timeout=60).hypotheses) for request in requests]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("threads", [2, 3])
def test_any_number_of_threads_gives_the_same_bits(
    artifact: Artifact, precision: Literal["int8", "fp32"], threads: int
) -> None:
    sources, found = some_sources(7, seed=3), []
    for number in (1, threads):
        settings = EngineSettings(slots=8, num_workers=number, precision=precision, translation_cache_bytes=0)
        backend = load_backend(artifact, "onnx", precision, "off", threads=number)
        worker = EngineWorker(backend, settings, Metrics(), "threads")
        worker.start()
        try:
            found.append(translations(worker, sources))
            assert len(worker._engines) == 1
        finally:
            worker.stop()
    assert found[0] == found[1]


def test_all_graphs_of_a_sentence_have_the_threads(artifact: Artifact) -> None:
    backend = load_backend(artifact, "onnx", "fp32", "off", threads=3)
    assert isinstance(backend, OnnxBackend)
    backend.prepare_scores()
    for graph in (backend._encode, backend._step, *backend._scoring_steps):
        options = graph.session.get_session_options()
        assert options.intra_op_num_threads == 3
        assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    assert backend.device.threads == 3


@given(workers=st.integers(1, 12), threads=st.one_of(st.just("auto"), st.integers(1, 99).map(str)))
def test_decoding_threads_are_never_more_than_the_setting(tiny_manifest: Manifest, workers: int, threads: str) -> None:
    settings = EngineSettings(num_workers=workers, intra_threads=threads)
    for width in (64, 512, 1024, 4096):
        together = intra_threads(wide(tiny_manifest, width), settings)
        assert 1 <= together <= workers
        if threads != "auto":
            assert together == min(int(threads), workers)


@pytest.fixture(scope="module")
def tiny_manifest(artifact: Artifact) -> Manifest:
    return artifact.manifest


def wide(manifest: Manifest, width: int) -> Manifest:
    return dataclasses.replace(manifest, num_heads=width // 64, head_dim=64)


@pytest.mark.parametrize(
    ("width", "precision", "workers", "together"),
    [
        (512, "int8", 2, 1),
        (960, "int8", 4, 1),
        (1024, "int8", 1, 1),
        (1024, "int8", 2, 2),
        (1024, "int8", 3, 3),
        (1024, "int8", 4, 2),
        (1024, "int8", 8, 2),
        (448, "fp32", 2, 1),
        (512, "fp32", 2, 2),
    ],
)
def test_large_models_have_two_threads_a_step(
    tiny_manifest: Manifest, width: int, precision: Literal["int8", "fp32"], workers: int, together: int
) -> None:
    settings = EngineSettings(num_workers=workers, precision=precision)
    assert intra_threads(wide(tiny_manifest, width), settings) == together


def test_other_runtimes_and_devices_have_threads_of_their_own(tiny_manifest: Manifest) -> None:
    large = wide(tiny_manifest, 1024)
    torch = EngineSettings(num_workers=4, backend="torchscript", precision="fp16", intra_threads="4")
    cuda = EngineSettings(num_workers=4, device="cuda", intra_threads="4")
    assert [intra_threads(large, each) for each in (torch, cuda)] == [1, 1]


@pytest.mark.parametrize(("threads", "engines"), [("auto", 4), ("1", 4), ("2", 2), ("3", 1), ("4", 1), ("9", 1)])
def test_engines_share_the_decoding_threads(tiny_artifact: Path, threads: str, engines: int) -> None:
    settings = EngineSettings(slots=8, num_workers=4, intra_threads=threads, precision="fp32")
    worker = EngineWorker.load(Artifact.load(tiny_artifact), settings, Metrics())
    assert len(worker._engines) == engines
    assert sum(engine.slots for engine in worker._engines) == 8
    assert len(worker.replacement()._engines) == engines


@pytest.mark.parametrize("wrong", ["0", "-1", "two", "100", ""])
def test_what_is_no_number_of_threads_is_refused(wrong: str) -> None:
    with pytest.raises(SettingsError, match="intra_threads"):
        EngineSettings(intra_threads=wrong)

"""One model on several devices: an engine on each, with one queue."""

import dataclasses
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from server.artifact.artifact import Artifact
from server.artifact.manifest import ArtifactError
from server.backends.context import States, full_context
from server.backends.device import CPU
from server.backends.load import load_backend, load_backends
from server.backends.torchscript.backend import TorchScriptBackend
from server.engine.devices import engine_places
from server.engine.request import SearchOptions, SentenceRequest
from server.engine.worker import EngineWorker
from server.runtime.setting_fields import SettingsError
from server.settings import EngineSettings
from server.telemetry.metrics import Metrics
from tests.documents import lively_document_model
from tests.graphs import write_graphs
from tests.server.backends.torch_devices import DEVICES
from tests.server.engine.test_engine import some_sources
from tests.server.engine.test_scoring import score_request

BOTH = ",".join(["cpu", DEVICES[-1]])
SETTINGS = EngineSettings(
    slots=4, num_workers=1, backend="torchscript", precision="fp32", device=BOTH, translation_cache_bytes=0
)


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    """With context on the encoder's side."""
    model, folder = lively_document_model(), tmp_path_factory.mktemp("devices")
    return write_graphs(model, folder, ("onnx", "fp32"), ("torchscript", "fp32"), align=True, score=True)


@pytest.fixture
def worker(artifact: Artifact) -> Iterator[EngineWorker]:
    first, *others = load_backends(artifact, "torchscript", "fp32", "off", BOTH)
    worker = EngineWorker(first, SETTINGS, Metrics(), "devices", others)
    worker.start()
    yield worker
    worker.stop()


def test_sentences_of_one_queue_run_on_all_devices(worker: EngineWorker, artifact: Artifact) -> None:
    threads, sources = set[str](), some_sources(12, seed=7)
    here = threading.Barrier(2, timeout=30)
    for engine in worker._engines:
        encode = engine.backend.encode

        def seen(ids: np.ndarray, keep: np.ndarray, encode=encode) -> object:  # type: ignore[no-untyped-def]
            if threading.current_thread().name not in threads:
                threads.add(threading.current_thread().name)
                here.wait()  # for an engine on the other device
            return encode(ids, keep)

        engine.backend.encode = seen  # type: ignore[method-assign,assignment]
    requests = [SentenceRequest(source, SearchOptions(3, max_length=20)) for source in sources]
    worker.prepare_scores()
    scored = [score_request(source, [source]) for source in sources]
    worker.submit_all([*requests, *scored])
    found = [request.future.result(timeout=60).hypotheses for request in (*requests, *scored)]
    assert len(threads) == 2
    alone = EngineWorker(
        load_backend(artifact, "onnx", "fp32"), EngineSettings(slots=4, num_workers=1), Metrics(), "one"
    )
    alone.start()
    try:
        alone.prepare_scores()
        again = [SentenceRequest(source, SearchOptions(3, max_length=20)) for source in sources]
        again += [score_request(source, [source]) for source in sources]
        alone.submit_all(again)
        for request, hypotheses in zip(again, found, strict=True):
            expected = request.future.result(timeout=60).hypotheses
            assert [each.ids for each in hypotheses] == [each.ids for each in expected]
            assert hypotheses[0].score == pytest.approx(expected[0].score, abs=1e-3)
    finally:
        alone.stop()


def test_what_one_device_encoded_another_one_translates(worker: EngineWorker) -> None:
    sources = [(5, 6, 7, 3), (8, 9, 3), (*range(20, 30), 3)]
    encoded = [each for batch in worker.side_tasks.encode_sources(sources) for each in batch.result(timeout=60)]
    states = [worker.side_tasks.compute_states(ids).result(timeout=60) for ids in sources]
    context = full_context(states, [len(ids) - 1 for ids in sources])
    assert context is not None
    requests = [
        SentenceRequest(each.source_ids, SearchOptions(2, max_length=20), context, encoded=each)
        for each in encoded
        for _ in range(4)
    ]
    worker.submit_all(requests)
    results = [request.future.result(timeout=60) for request in requests]
    assert all(result.context is not None for result in results)
    for first in range(0, len(results), 4):
        assert len({result.hypotheses[0].ids for result in results[first : first + 4]}) == 1
    assert worker.side_tasks.explain(sources[0], context).result(timeout=60).words is not None
    worker.side_tasks.prepare_alignments()
    [weights] = worker.side_tasks.align([((5, 6, 3), (7, 8))]).result(timeout=60)
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)
    assert len(worker.replacement()._engines) == 2


def test_side_tasks_run_on_the_device_of_the_thread_that_takes_them(worker: EngineWorker) -> None:
    ran, here = set[tuple[str, int]](), threading.Barrier(2, timeout=30)
    for index, engine in enumerate(worker._engines):
        context = engine.backend.context
        assert context is not None
        compute = context.compute_states

        def seen(*given: Any, index: int = index, compute: Callable[..., States] = compute) -> States:
            ran.add((threading.current_thread().name, index))
            here.wait()  # both threads take one
            return compute(*given)

        context.compute_states = seen  # type: ignore[method-assign,assignment]
    for pending in [worker.side_tasks.compute_states(source) for source in ((5, 6, 7, 3), (8, 9, 3))]:
        pending.result(timeout=60)
    assert ran == {("engine-devices-0", 0), ("engine-devices-1", 1)}


def test_every_device_has_engines(artifact: Artifact) -> None:
    cpu, gpu = (TorchScriptBackend(artifact, "fp32") for _ in range(2))
    gpu.device = dataclasses.replace(CPU, kind="cuda", engines=1)
    assert engine_places([gpu, cpu], 3) == [gpu, cpu, cpu, cpu]
    assert engine_places([cpu, gpu], 1) == [cpu, gpu]


def test_the_worker_tests_itself_on_all_devices(tiny_artifact: Path) -> None:
    worker = EngineWorker.load(Artifact.load(tiny_artifact), SETTINGS, Metrics())
    assert [engine.backend.device.name for engine in worker._engines] == BOTH.split(",")


def test_onnx_runtime_takes_one_device(tiny_artifact: Path) -> None:
    with pytest.raises(ArtifactError, match="on one device, not on cpu,cpu: serve with --backend torchscript"):
        load_backends(Artifact.load(tiny_artifact), "onnx", "fp32", "off", "cpu,cpu")


def test_a_gpu_named_twice_is_an_error(tiny_artifact: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = load_backend(Artifact.load(tiny_artifact), "torchscript", "fp32")
    monkeypatch.setattr(backend, "device", dataclasses.replace(CPU, kind="cuda"))
    monkeypatch.setattr("server.backends.load.load_backend", lambda *arguments: backend)
    with pytest.raises(ArtifactError, match="names cuda:0 twice: one engine decodes on each GPU"):
        load_backends(Artifact.load(tiny_artifact), "torchscript", "fp32", "off", "cuda,cuda:0")


@pytest.mark.parametrize("device", ["cuda:0,", "cuda:0,tpu", ",cpu", "cuda;cpu"])
def test_a_list_of_devices_is_checked(device: str) -> None:
    with pytest.raises(SettingsError, match="device"):
        EngineSettings(device=device)

"""Threads that compute a step together while no other engine works."""

import contextlib
import dataclasses
import itertools
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.artifact.artifact import Artifact
from server.artifact.manifest import Manifest
from server.backends.arrays import Flags, Ints
from server.backends.busy_threads import DECODING, BusyThreads
from server.backends.load import load_backend
from server.backends.memory import Encoded
from server.backends.onnx.backend import OnnxBackend
from server.engine.devices import intra_threads
from server.engine.request import SearchOptions, SentenceRequest
from server.engine.worker import EngineWorker
from server.runtime.setting_fields import SettingsError
from server.settings import EngineSettings
from server.telemetry.metrics import Metrics
from tests.documents import lively_document_model
from tests.graphs import write_graphs
from tests.models import lively_model, tiny_config
from tests.server.api.conftest import until
from tests.server.engine.runs import translate
from tests.server.engine.test_engine import some_sources

PRECISIONS: tuple[Literal["int8", "fp32"], ...] = ("int8", "fp32")


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    """Wide enough for ONNX Runtime to divide the products of a few rows."""
    config = tiny_config(d_model=128, num_heads=4, ffn_dim=512, ngram=None)
    folder = tmp_path_factory.mktemp("threads")
    return write_graphs(lively_model(config), folder, *(("onnx", precision) for precision in PRECISIONS), score=True)


class Turns:
    """Instead of DECODING: which steps were asked for, and what they were told."""

    def __init__(self, *answers: bool) -> None:
        self._answers = itertools.cycle(answers)
        self.given: list[bool] = []

    @property
    def is_one(self) -> bool:
        self.given.append(next(self._answers))
        return self.given[-1]


def new_backend(artifact: Artifact, threads: int, precision: str = "fp32") -> OnnxBackend:
    backend = load_backend(artifact, "onnx", precision, "off", threads=threads)
    assert isinstance(backend, OnnxBackend)
    return backend


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("answers", [(True,), (True, False, False), (False,)])
@pytest.mark.parametrize("threads", [2, 3])
def test_any_number_of_threads_gives_the_same_bits(
    artifact: Artifact, monkeypatch: pytest.MonkeyPatch, precision: str, threads: int, answers: tuple[bool, ...]
) -> None:
    """Also where it changes between the steps of a sentence."""
    sources, options = some_sources(7, seed=3), SearchOptions(4, max_length=24)
    expected = translate(new_backend(artifact, 1, precision), sources, options, slots=8)
    turns = Turns(*answers)
    monkeypatch.setattr("server.backends.onnx.backend.DECODING", turns)
    found = translate(new_backend(artifact, threads, precision), sources, options, slots=8)
    assert [each.hypotheses for each in found] == [each.hypotheses for each in expected]
    assert set(turns.given) == set(answers)


def test_step_graphs_have_a_second_session_with_all_threads(artifact: Artifact) -> None:
    backend = new_backend(artifact, 3)
    backend.prepare_scores()
    for graph in (backend._encode, backend._step, *backend._scoring_steps):
        assert graph.session.get_session_options().intra_op_num_threads == 1
    assert list(backend._shared_steps) == [backend._step.name]
    options = backend._shared_steps[backend._step.name].session.get_session_options()
    assert options.intra_op_num_threads == 3
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    assert not new_backend(artifact, 1)._shared_steps


def test_the_step_graph_with_documents_has_one_too(tmp_path: Path) -> None:
    artifact = write_graphs(lively_document_model(side="decoder"), tmp_path, ("onnx", "fp32"))
    backend = new_backend(artifact, 2)
    assert backend._context_step is not None
    assert set(backend._shared_steps) == {backend._step.name, backend._context_step.name}


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells how long each thread ran")
@pytest.mark.parametrize("precision", PRECISIONS)
def test_other_threads_take_part_only_while_one_decoding_thread_has_work(artifact: Artifact, precision: str) -> None:
    """The runtime's own threads: those that appear when it is loaded."""
    before = run_times()
    backend = new_backend(artifact, 2, precision)
    added = run_times().keys() - before.keys()
    assert added
    other = OtherThreads()
    try:
        for is_busy in (True, False):
            other.set_busy(is_busy)
            until(lambda: all(map(is_asleep, added)), "the runtime's threads sleep")
            started = run_times()
            translate(backend, some_sources(7), SearchOptions(4, max_length=24), slots=8)
            ended = run_times()
            assert any(ended[thread] > started[thread] for thread in added) != is_busy
    finally:
        other.close()


def run_times() -> dict[int, int]:
    """Nanoseconds that each thread of this process has run."""
    times: dict[int, int] = {}
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            times[int(task.name)] = int((task / "schedstat").read_text().split()[0])
    return times


def is_asleep(thread: int) -> bool:
    return "State:\tS" in Path(f"/proc/self/task/{thread}/status").read_text()


class OtherThreads:
    """Threads that count as decoding threads of some other model."""

    def __init__(self) -> None:
        self._pools = [ThreadPoolExecutor(1), ThreadPoolExecutor(1)]

    def set_busy(self, is_busy: bool) -> None:
        for pool in self._pools:
            pool.submit(DECODING.enter if is_busy else DECODING.leave).result()

    def close(self) -> None:
        self.set_busy(False)
        for pool in self._pools:
            pool.shutdown()


def test_an_engine_counts_as_busy_while_it_has_sentences(artifact: Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not before, not afterwards, not after an error, and not when its worker has stopped."""
    busy, backend = BusyThreads(), new_backend(artifact, 1)
    monkeypatch.setattr("server.engine.engine_thread.DECODING", busy)
    encode, seen = backend.encode, list[set[int]]()

    def observed(ids: Ints, keep: Flags) -> list[Encoded]:
        until(lambda: len(busy._cpus) == 1, "only this engine is busy")  # another one may have woken for a moment
        seen.append(set(busy._cpus))
        if len(seen) == 2:
            raise RuntimeError("out of memory")
        return encode(ids, keep)

    monkeypatch.setattr(backend, "encode", observed)
    settings = EngineSettings(slots=8, num_workers=2, precision="fp32", translation_cache_bytes=0)
    worker = EngineWorker(backend, settings, Metrics(), "busy")
    worker.start()
    threads = {thread.ident for thread in worker.threads}
    try:
        for number in range(3):
            until(lambda: not busy._cpus, "all engines sleep")
            request = SentenceRequest(some_sources(1)[0], SearchOptions(4, max_length=24))
            worker.submit(request)
            assert (request.future.exception(timeout=60) is not None) == (number == 1)
            assert len(seen[-1]) == 1
            assert seen[-1] <= threads
        has_begun, may_end = threading.Event(), threading.Event()

        def stuck(ids: Ints, keep: Flags) -> list[Encoded]:
            has_begun.set()
            may_end.wait(60)
            return encode(ids, keep)

        monkeypatch.setattr(backend, "encode", stuck)
        worker.submit(SentenceRequest(some_sources(1)[0], SearchOptions(4, max_length=24)))
        assert has_begun.wait(60)
        until(lambda: len(busy._cpus) == 1, "the engine with the sentence is busy, and no other")
        assert busy._cpus.keys() <= threads
        worker.close()
        may_end.set()
    finally:
        worker.stop(60)
    assert not busy._cpus


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
        (1024, "int8", 3, 2),
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


@pytest.mark.parametrize(
    ("words", "shortlist", "together"), [(8192, "off", 2), (8192, "auto", 1), (8192, "on", 1), (4095, "off", 1)]
)
def test_models_that_score_many_words_have_them_too(
    tiny_artifact: Path, words: int, shortlist: Literal["auto", "on", "off"], together: int
) -> None:
    manifest = dataclasses.replace(wide(Artifact.load(tiny_artifact).manifest, 256), vocabulary_size=words)
    settings = EngineSettings(num_workers=2, precision="fp32", shortlist=shortlist)
    assert intra_threads(manifest, settings) == together


def test_other_runtimes_and_devices_have_threads_of_their_own(tiny_manifest: Manifest) -> None:
    large = wide(tiny_manifest, 1024)
    torch = EngineSettings(num_workers=4, backend="torchscript", precision="fp16", intra_threads="4")
    cuda = EngineSettings(num_workers=4, device="cuda", intra_threads="4")
    assert [intra_threads(large, each) for each in (torch, cuda)] == [1, 1]


@pytest.mark.parametrize(("threads", "together"), [("auto", 1), ("1", 1), ("2", 2), ("9", 4)])
def test_there_is_an_engine_for_every_decoding_thread(tiny_artifact: Path, threads: str, together: int) -> None:
    settings = EngineSettings(slots=8, num_workers=4, intra_threads=threads, precision="fp32")
    worker = EngineWorker.load(Artifact.load(tiny_artifact), settings, Metrics())
    assert len(worker._engines) == len(worker.replacement()._engines) == 4
    assert {engine.backend.device.threads for engine in worker._engines} == {together}


@pytest.mark.parametrize("wrong", ["0", "-1", "two", "100", ""])
def test_what_is_no_number_of_threads_is_refused(wrong: str) -> None:
    with pytest.raises(SettingsError, match="intra_threads"):
        EngineSettings(intra_threads=wrong)

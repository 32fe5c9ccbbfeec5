"""Decoding threads that have work, and the CPUs that they run on."""

import ctypes
import os
import sys
import threading
from collections.abc import Iterator, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.artifact.artifact import Artifact
from server.backends import busy_threads
from server.backends.arrays import Flags, Ints
from server.backends.busy_threads import BusyThreads
from server.backends.load import load_backend
from server.backends.memory import Encoded
from server.engine import engine_thread
from server.engine.request import SearchOptions, SentenceRequest
from server.engine.worker import EngineWorker
from server.runtime import cpu_affinity
from server.runtime.cpu_affinity import UNKNOWN, allow_all, current_cpu, keep_off
from server.settings import EngineSettings
from server.telemetry.metrics import Metrics
from tests.graphs import write_graphs
from tests.models import lively_model, tiny_config
from tests.server.api.conftest import until
from tests.server.engine.test_engine import some_sources

has_two_cpus = pytest.mark.skipif(
    sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2, reason="threads keep apart on Linux with two CPUs"
)


@pytest.fixture
def thread() -> Iterator[ThreadPoolExecutor]:
    """One thread, whose affinity may change."""
    with ThreadPoolExecutor(1) as pool:
        yield pool


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=20))
def test_busy_threads_are_counted_once_each(calls: list[tuple[int, bool]]) -> None:
    busy, expected = BusyThreads(), set[int]()
    pools = [ThreadPoolExecutor(1) for _ in range(4)]
    try:
        for number, enters in calls:
            pools[number].submit(busy.enter if enters else busy.leave).result()
            expected = expected | {number} if enters else expected - {number}
            assert busy.is_one == (len(expected) <= 1)
    finally:
        for pool in pools:
            pool.shutdown()


@dataclass
class Kernel:
    """Instead of the kernel: `places`, the CPU of each thread; `process`, the CPUs of the process; `kept`, where the
    threads may run that do not run on all of them. The calling thread is `caller`."""

    process: Set[int]
    places: dict[int, int]
    kept: dict[int, Set[int]]
    caller: int = 0

    def current_cpu(self) -> int:
        return self.places[self.caller]

    def keep_off(self, cpus: Set[int]) -> bool:
        if others := self.process - cpus:
            self.kept[self.caller] = others
            if self.places[self.caller] not in others:
                self.places[self.caller] = min(others)
        return bool(others)

    def allow_all(self) -> None:
        del self.kept[self.caller]


@given(st.data(), st.integers(1, 4), st.booleans())
def test_threads_that_may_move_keep_apart(data: st.DataObject, count: int, may_move: bool) -> None:
    """Wherever the kernel puts them before a step. A thread that rests may run anywhere."""
    kernel = Kernel(frozenset(range(count)), {}, {})
    busy, seen = BusyThreads(), dict[int, int]()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("current_cpu", "keep_off", "allow_all"):
            patch.setattr(busy_threads, name, getattr(kernel, name))
        patch.setattr(threading, "get_ident", lambda: kernel.caller)
        for _ in range(data.draw(st.integers(0, 20), label="calls")):
            kernel.caller = data.draw(st.integers(0, 3), label="thread")
            match data.draw(st.sampled_from(["step", "leave", "rest"])):
                case "step":
                    allowed = sorted(kernel.kept.get(kernel.caller, kernel.process))
                    put = data.draw(st.sampled_from(allowed), label="put on")
                    kernel.places[kernel.caller] = put
                    busy.enter(may_move)
                    others = {cpu for other, cpu in seen.items() if other != kernel.caller}
                    seen[kernel.caller] = kernel.places[kernel.caller]
                    if may_move and kernel.process - others:
                        assert seen[kernel.caller] not in others
                    if not may_move or put not in others or not kernel.process - others:
                        assert seen[kernel.caller] == put
                case "leave":
                    busy.leave()
                    seen.pop(kernel.caller, None)
                case "rest":
                    busy.rest()
                    assert kernel.caller not in kernel.kept
    if not may_move:
        assert not kernel.kept


@has_two_cpus
def test_a_thread_leaves_the_cpu_of_another_one_until_it_rests(thread: ThreadPoolExecutor) -> None:
    busy, cpus = BusyThreads(), os.sched_getaffinity(0)

    def pinned_steps() -> tuple[int, set[int], set[int]]:
        [taken] = busy._cpus.values()
        os.sched_setaffinity(0, {taken})
        busy.enter(may_move=True)
        place, kept = current_cpu(), os.sched_getaffinity(0)
        busy.enter(may_move=True)
        assert os.sched_getaffinity(0) == kept  # it is where it should be
        busy.leave()
        busy.rest()
        return place, kept, os.sched_getaffinity(0)

    busy.enter(may_move=True)
    [taken] = busy._cpus.values()
    assert os.sched_getaffinity(0) == cpus  # there was no other thread
    place, kept, afterwards = thread.submit(pinned_steps).result(timeout=60)
    assert place in kept == cpus - {taken}
    assert afterwards == cpus


@has_two_cpus
def test_the_only_cpu_of_a_process_is_shared(thread: ThreadPoolExecutor) -> None:
    cpus = os.sched_getaffinity(0)

    def kept() -> tuple[bool, set[int]]:
        return keep_off(cpus), os.sched_getaffinity(0)

    assert thread.submit(kept).result(timeout=60) == (False, cpus)


@has_two_cpus
def test_a_kernel_that_refuses_changes_nothing(thread: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a sandbox."""
    cpus = os.sched_getaffinity(0)

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    assert not thread.submit(keep_off, {min(cpus)}).result(timeout=60)
    thread.submit(allow_all).result(timeout=60)
    assert thread.submit(os.sched_getaffinity, 0).result(timeout=60) == cpus


def test_a_system_that_does_not_tell_the_cpu_moves_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_library(_: None) -> object:
        raise OSError

    monkeypatch.setattr(ctypes, "PyDLL", no_library)
    monkeypatch.setattr(busy_threads, "current_cpu", cpu_affinity._getcpu())
    monkeypatch.setattr(busy_threads, "keep_off", lambda cpus: pytest.fail("moved"))
    busy = BusyThreads()
    busy._cpus[0] = UNKNOWN
    busy.enter(may_move=True)
    assert list(busy._cpus.values()) == [UNKNOWN, UNKNOWN]


@has_two_cpus
def test_two_engines_decode_on_two_cpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Although the kernel woke both on one. When they have had no work for long, they may run on all of them."""
    cpus = os.sched_getaffinity(0)
    artifact = write_graphs(lively_model(tiny_config()), tmp_path, ("onnx", "fp32"))
    backend = load_backend(artifact, "onnx", "fp32")
    both, places = threading.Barrier(2), list[int]()
    encode = backend.encode

    def observed(ids: Ints, keep: Flags) -> list[Encoded]:
        both.wait(60)
        places.append(current_cpu())
        both.wait(60)
        return encode(ids, keep)

    monkeypatch.setattr(backend, "encode", observed)
    monkeypatch.setattr(engine_thread, "IDLE_WAIT", 0.05)
    settings = EngineSettings(slots=8, num_workers=2, precision="fp32", translation_cache_bytes=0)
    worker = EngineWorker(backend, settings, Metrics(), "apart")
    worker.start()
    try:
        numbers = [thread.native_id or 0 for thread in worker.threads]
        for number in numbers:
            os.sched_setaffinity(number, {min(cpus)})
        options = SearchOptions(4, max_length=24)
        requests = [SentenceRequest(source * 3, options) for source in some_sources(2)]
        worker.submit_all(requests)
        for request in requests:
            request.future.result(timeout=60)
        assert len(set(places)) == len(places) == 2
        until(lambda: any(os.sched_getaffinity(number) == cpus for number in numbers), "the one that moved has rested")
    finally:
        worker.stop(60)


@pytest.mark.parametrize(("format", "may_move"), [("onnx", True), ("torchscript", False)])
def test_only_threads_that_compute_a_step_themselves_move(tiny_artifact: Path, format: str, may_move: bool) -> None:
    """PyTorch's own threads start on the CPUs where the calling thread may run, and stay there."""
    backend = load_backend(Artifact.load(tiny_artifact), format, "fp32")
    assert backend.device.runs_on_caller == may_move

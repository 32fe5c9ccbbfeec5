"""One of several engines stays free of long work while there are short requests."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.backends.base import Backend
from server.engine.engine import Engine
from server.engine.engine_thread import IDLE_WAIT
from server.engine.long_work import RECENT_SECONDS, LongWork
from server.engine.request import SearchOptions, SentenceRequest
from server.engine.scheduler import MAX_SHORT_SENTENCES
from server.engine.worker import EngineWorker
from server.settings import EngineSettings
from server.telemetry.metrics import Metrics
from tests.server.engine.conftest import LoadBackend
from tests.server.engine.integrity import check_integrity
from tests.server.engine.runs import new_engine

TIMEOUT = 30
SHORT = (5, 6, 7, 3)


@given(engines=st.integers(1, 8), is_short=st.lists(st.booleans(), max_size=40))
def test_one_engine_stays_free_after_a_short_request(engines: int, is_short: list[bool]) -> None:
    work, now, running = LongWork(), 100.0, 0
    for arrives in is_short:
        if arrives:
            work.short_arrived(now)
        if running < engines and work.may_begin(engines, now):
            work.begin()
            running += 1
        now += 0.01
    if is_short and is_short[0]:
        assert running == min(max(1, engines - 1), len(is_short))
    if not any(is_short):
        assert running == min(engines, len(is_short))
    assert work.may_begin(engines, now + RECENT_SECONDS)
    for _ in range(running):
        work.end()
    work.short_arrived(now)
    assert work.may_begin(engines, now)


class Held:
    """Side tasks that run until they are released."""

    def __init__(self, worker: EngineWorker, count: int) -> None:
        self.begun, self.release = threading.Semaphore(0), threading.Event()
        self.futures: list[Future[None]] = [worker.side_tasks.submit(self._run, 1, None) for _ in range(count)]

    def _run(self, backend: Backend) -> None:
        self.begun.release()
        assert self.release.wait(TIMEOUT)

    def finish(self) -> None:
        self.release.set()
        for future in self.futures:
            future.result(TIMEOUT)


@pytest.fixture
def worker(load: LoadBackend) -> Iterator[EngineWorker]:
    settings = EngineSettings(slots=4, max_waiting=50, num_workers=2)
    worker = EngineWorker(load("onnx", "fp32"), settings, Metrics(), "tiny")
    worker.start()
    yield worker
    worker.stop()


def translate_short(worker: EngineWorker) -> None:
    request = SentenceRequest(SHORT, SearchOptions(beam_size=2, max_length=8))
    worker.submit(request)
    assert request.future.result(TIMEOUT).hypotheses


def test_all_engines_do_long_work_when_there_are_no_short_requests(worker: EngineWorker) -> None:
    held = Held(worker, 2)
    assert held.begun.acquire(timeout=TIMEOUT)
    assert held.begun.acquire(timeout=TIMEOUT)
    held.finish()


def test_short_requests_are_answered_beside_long_work(worker: EngineWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other engine takes no side task, and waits for one without using a processor."""
    rounds: list[bool] = []
    step = Engine.step

    def counted(engine: Engine) -> None:
        rounds.append(engine.is_blocked)
        step(engine)

    monkeypatch.setattr(Engine, "step", counted)
    monkeypatch.setattr("server.engine.long_work.RECENT_SECONDS", 3600.0)
    translate_short(worker)
    held, started = Held(worker, 3), time.monotonic()
    assert held.begun.acquire(timeout=TIMEOUT)
    for _ in range(3):
        translate_short(worker)
    assert not held.begun.acquire(blocking=False)
    waits = (time.monotonic() - started) / IDLE_WAIT
    assert sum(rounds) <= 8 + waits  # a round after each short request, or each IDLE_WAIT
    held.finish()
    assert worker.queue.is_drained


def test_blocked_engines_continue_when_short_requests_stop(
    worker: EngineWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.engine.long_work.RECENT_SECONDS", 0.05)
    translate_short(worker)
    held = Held(worker, 2)
    assert held.begun.acquire(timeout=TIMEOUT)
    assert held.begun.acquire(timeout=TIMEOUT)
    held.finish()


def test_longer_requests_are_encoded_by_one_engine_beside_short_ones(load: LoadBackend) -> None:
    engine = new_engine(load("onnx", "fp32"), slots=4, max_waiting=100)
    engine.num_engines = 2
    options = SearchOptions(beam_size=1, max_length=8)
    short = SentenceRequest(SHORT, options)
    longer = [SentenceRequest(SHORT, options) for _ in range(2 * MAX_SHORT_SENTENCES)]
    engine.queue.put([short])
    engine.queue.put(longer)
    assert engine.queue.begin_long_work(2)  # by the other engine
    while not short.future.done():
        engine.step()
        check_integrity(engine)
    engine.step()
    assert engine.is_blocked
    assert len(engine.queue) == len(longer)
    engine.queue.end_long_work()
    while not engine.is_idle:
        engine.step()
        assert not engine.is_blocked
    assert all(request.future.done() for request in longer)

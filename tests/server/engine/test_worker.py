"""Threads around the engine."""

import gc
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import Future

import numpy as np
import pytest

from server.artifact.manifest import Manifest
from server.backends.base import Backend, ScoreStep, Step
from server.backends.context import full_context
from server.backends.state import DecoderState, Encoded, Flags, Ints
from server.engine.engine import Engine
from server.engine.queue_budget import Reservation
from server.engine.request import EngineStopped, Overloaded, SearchOptions, SentenceRequest, SentenceResult
from server.engine.worker import EngineWorker
from server.settings import EngineSettings
from server.telemetry.metrics import Metrics
from tests.server.engine.conftest import LoadBackend
from tests.server.engine.runs import translate
from tests.server.engine.test_engine import assert_same, some_sources

OPTIONS = SearchOptions(max_length=30)


class FaultyBackend:
    """A real backend whose next steps fail on demand, or wait at a gate."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.manifest: Manifest = backend.manifest
        self.shortlist = backend.shortlist
        self.context = backend.context
        self.aligner, self.device = backend.aligner, backend.device
        self.new_state = backend.new_state
        self.faults = 0
        self.gate = threading.Event()
        self.gate.set()
        self.reached = threading.Event()

    def encode(self, source_ids: Ints, source_keep: Flags) -> list[Encoded]:
        return self._backend.encode(source_ids, source_keep)

    def bind(self, state: DecoderState) -> Step:
        step = self._backend.bind(state)

        def faulty() -> None:
            self.reached.set()
            self.gate.wait(timeout=30)
            if self.faults:
                self.faults -= 1
                raise RuntimeError("the graph broke")
            step()

        return faulty

    def prepare_scores(self) -> None:
        self._backend.prepare_scores()

    def bind_scores(self, state: DecoderState) -> ScoreStep:
        return self._backend.bind_scores(state)


@pytest.fixture
def backend(load: LoadBackend) -> FaultyBackend:
    return FaultyBackend(load("onnx", "fp32"))


@pytest.fixture(params=[1, 2])
def worker(request: pytest.FixtureRequest, backend: FaultyBackend) -> Iterator[EngineWorker]:
    settings = EngineSettings(slots=6, max_waiting=50, num_workers=request.param)
    worker = EngineWorker(backend, settings, Metrics(), "tiny")
    worker.start()
    yield worker
    backend.gate.set()
    worker.stop()


def submit(worker: EngineWorker, sources: list[tuple[int, ...]]) -> list[SentenceRequest]:
    requests = [SentenceRequest(source, OPTIONS) for source in sources]
    worker.submit_all(requests)
    return requests


@pytest.mark.parametrize("slots", range(1, 12))
@pytest.mark.parametrize("workers", [1, 2, 3, 5, 8])
def test_workers_share_all_slots_alike(slots: int, workers: int, load: LoadBackend) -> None:
    """No slot is lost, and no worker is without one."""
    settings = EngineSettings(slots=slots, num_workers=workers)
    worker = EngineWorker(load("onnx", "fp32"), settings, Metrics(), "tiny")
    shares = [engine.slots for engine in worker._engines]
    assert sum(shares) == slots
    assert len(shares) == len(worker.threads) == min(slots, workers)
    assert max(shares) - min(shares) <= 1


def test_sentences_of_many_threads_equal_sentences_alone(load: LoadBackend, worker: EngineWorker) -> None:
    sources = some_sources(24, seed=3)
    expected = translate(load("onnx", "fp32"), sources, OPTIONS, slots=1)
    requests: dict[int, SentenceRequest] = {}

    def submit_some(first: int) -> None:
        for index in range(first, 24, 4):
            requests[index] = SentenceRequest(sources[index], OPTIONS)
            worker.submit(requests[index])

    threads = [threading.Thread(target=submit_some, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for index, wanted in enumerate(expected):
        assert_same(requests[index].future.result(timeout=60), wanted)
    assert worker.drain(timeout=30)
    assert worker.running_sentences == worker.waiting_sentences == 0


def test_a_fault_fails_its_callers_and_the_next_sentence_is_translated(
    worker: EngineWorker, backend: FaultyBackend
) -> None:
    backend.faults = 1
    (broken,) = submit(worker, [(5, 6, 3)])
    with pytest.raises(RuntimeError, match="the graph broke"):
        broken.future.result(timeout=30)
    (following,) = submit(worker, [(5, 6, 3)])
    assert following.future.result(timeout=30).hypotheses
    assert not worker.has_exited
    assert not worker.is_stuck


def test_draining_finishes_sentences_in_flight_and_accepts_no_more(worker: EngineWorker) -> None:
    requests = submit(worker, some_sources(12))
    assert worker.drain(timeout=60)
    assert all(request.future.done() for request in requests)
    with pytest.raises(EngineStopped, match="shutting down"):
        worker.submit(SentenceRequest((5, 3), OPTIONS))


def test_stopping_resolves_every_request(worker: EngineWorker, backend: FaultyBackend) -> None:
    backend.gate.clear()
    requests = submit(worker, some_sources(30))
    assert backend.reached.wait(timeout=30)
    assert not worker.drain(timeout=0)
    stopping = threading.Thread(target=worker.stop)
    stopping.start()
    backend.gate.set()
    stopping.join(timeout=30)
    for request in requests:
        error = request.future.exception(timeout=0)
        assert error is None or isinstance(error, EngineStopped)
    assert worker.has_exited
    assert not worker.has_failed


def test_too_many_sentences_are_rejected_at_once(worker: EngineWorker) -> None:
    with pytest.raises(Overloaded):
        submit(worker, some_sources(51))
    assert worker.waiting_sentences == 0


def test_a_warm_up_is_a_real_decode(worker: EngineWorker, backend: FaultyBackend) -> None:
    assert not backend.reached.is_set()
    worker.warm_up()
    assert backend.reached.is_set()
    backend.faults = 2
    with pytest.raises(RuntimeError, match="the graph broke"):
        worker.warm_up()


def test_memory_is_published(load: LoadBackend) -> None:
    metrics = Metrics()
    worker = EngineWorker(load("onnx", "fp32"), EngineSettings(slots=2, num_workers=1), metrics, "tiny")
    worker.start()
    try:
        (request,) = submit(worker, [(5, 6, 3)])
        request.future.result(timeout=30)
        ring = metrics.registry.get_sample_value("ringmt_ring_cache_bytes", {"model": "tiny"})
        assert ring == 2 * 2 * 2 * 3 * 4 * 16 * 4  # key and value, layers, heads, slots, beam, head_dim, bytes
        steps = metrics.registry.get_sample_value("ringmt_decode_steps_total", {"model": "tiny"})
        assert steps is not None
        assert 0 < steps <= OPTIONS.max_length
    finally:
        worker.stop()


@pytest.fixture
def document_worker(load_document: LoadBackend) -> Iterator[EngineWorker]:
    settings = EngineSettings(slots=4, max_waiting=6, num_workers=2)
    worker = EngineWorker(load_document("onnx", "fp32"), settings, Metrics(), "documents")
    worker.start()
    yield worker
    worker.stop()


def test_states_are_computed_beside_sentences(load_document: LoadBackend, document_worker: EngineWorker) -> None:
    backend = load_document("onnx", "fp32")
    context = backend.context
    assert context is not None
    sentences = submit(document_worker, some_sources(3))
    sources = some_sources(6, seed=4)
    states = [document_worker.side_tasks.compute_states(source, owner="document") for source in sources]
    for source, future in zip(sources, states, strict=True):
        expected, actual = context.compute_states(source), future.result(timeout=30)
        assert actual.keys() == expected.keys() == set(backend.manifest.store_tensors)
        assert all(np.array_equal(actual[name], expected[name]) for name in expected)
    assert document_worker.drain(timeout=30)
    assert all(request.future.done() for request in sentences)
    with pytest.raises(EngineStopped, match="shutting down"):
        document_worker.side_tasks.compute_states((5, 3))


def test_explanations_are_computed_beside_sentences(load_document: LoadBackend, document_worker: EngineWorker) -> None:
    context = load_document("onnx", "fp32").context
    assert context is not None
    seen = full_context([context.compute_states((5, 6, 7, 3)), context.compute_states((8, 9, 3))], [3, 2])
    assert seen is not None
    actual = document_worker.side_tasks.explain((5, 6, 3), seen).result(timeout=30)
    expected = context.explain((5, 6, 3), seen)
    np.testing.assert_array_equal(actual.weights, expected.weights)
    assert actual.words is not None
    assert [words.shape for words in actual.words] == [(2, 3), (2, 2)]


def test_a_side_task_costs_its_source_tokens_and_translation_tokens(load_document: LoadBackend) -> None:
    """As sentences do, so that a long document does not get more turns by its side tasks."""
    settings = EngineSettings(slots=2, max_waiting=20, num_workers=1)
    idle = EngineWorker(load_document("onnx", "fp32"), settings, Metrics(), "documents")
    context = load_document("onnx", "fp32").context
    assert context is not None
    seen = full_context([context.compute_states((5, 6, 7, 3))], [3])
    assert seen is not None

    def cost() -> int:
        side_task = idle.queue.take_side_task()
        assert side_task is not None
        return side_task.cost

    for length, num_target in ((1, 0), (4, 0), (4, 7)):
        source, target = (5,) * (length - 1) + (3,), (6,) * num_target
        idle.side_tasks.compute_states(source, target)
        assert cost() == length + num_target
        idle.side_tasks.explain(source, seen, target)
        assert cost() == length + num_target
        idle.side_tasks.encode_sources([source])
        assert cost() == length
        if idle.side_tasks.can_align:
            idle.side_tasks.align([(source, target), (source * 2, target)])
            assert cost() == 3 * length
    assert idle.queue.take_side_task() is None


def test_a_failing_side_task_fails_only_its_caller(document_worker: EngineWorker) -> None:
    broken = document_worker.side_tasks.compute_states((10**6, 3))
    (sentence,) = submit(document_worker, [(5, 6, 3)])
    with pytest.raises(Exception, match="indices element out of data bounds"):
        broken.result(timeout=30)
    assert sentence.future.result(timeout=30).hypotheses
    assert not document_worker.has_exited
    assert not document_worker.is_stuck


def test_side_tasks_are_limited_and_fail_at_a_stop(worker: EngineWorker, load_document: LoadBackend) -> None:
    with pytest.raises(ValueError, match="'tiny' knows no context"):
        worker.side_tasks.compute_states((5, 3))
    idle = EngineWorker(load_document("onnx", "fp32"), EngineSettings(max_waiting=2), Metrics(), "documents")
    waiting = [idle.side_tasks.compute_states((5, 6, 3)) for _ in range(2)]
    with pytest.raises(Overloaded, match="at most 2"):
        idle.side_tasks.compute_states((5, 3))
    assert waiting[0].cancel()
    idle.stop()
    with pytest.raises(EngineStopped):
        waiting[1].result(timeout=30)


def test_a_request_cancelled_in_the_queue_is_resolved_when_the_worker_is_abandoned(load: LoadBackend) -> None:
    """Its search has left the table of searches; only the queue, which is cleared, refers to it."""
    worker = EngineWorker(
        load("onnx", "fp32"), EngineSettings(num_workers=1, slots=2), Metrics(), "tiny"
    )  # not started
    requests = [SentenceRequest((5, 6, 3), OPTIONS), SentenceRequest((7, 3), OPTIONS)]
    worker.answer_all(requests)
    requests[0].cancel()
    futures = [request.future for request in requests]  # all that their callers hold
    requests.clear()
    gc.collect()
    worker.abandon(EngineStopped("abandoned"))
    for future in futures:
        assert isinstance(future.exception(timeout=0), EngineStopped)


def test_an_error_of_the_engine_itself_fails_its_sentences_and_ends_no_thread(
    worker: EngineWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of sentences that have no slot yet, too."""
    failing = threading.Event()
    failing.set()
    step = Engine.step

    def faulty(engine: Engine) -> None:
        if not failing.is_set():
            step(engine)
            return
        engine.encode()
        raise RuntimeError("the engine broke")

    monkeypatch.setattr(Engine, "step", faulty)
    broken = submit(worker, [(5, 6, 3), (7, 3)])
    for request in broken:
        with pytest.raises(RuntimeError, match="the engine broke"):
            request.future.result(timeout=30)
    failing.clear()
    (following,) = submit(worker, [(5, 6, 3)])
    assert following.future.result(timeout=30).hypotheses
    assert not worker.has_exited


@pytest.mark.parametrize("is_abandoned", [True, False])
def test_a_stopped_worker_is_freed_at_once(load: LoadBackend, is_abandoned: bool) -> None:
    """Without the garbage collector, with answers in its cache and a sentence that was never answered."""
    metrics = Metrics()
    metrics.start_model("tiny")
    worker = EngineWorker(load("onnx", "fp32"), EngineSettings(num_workers=1, slots=2), metrics, "tiny")
    worker.start()
    answered, unanswered = SentenceRequest((5, 6, 3), OPTIONS), SentenceRequest((7, 3), OPTIONS)
    worker.answer_all([answered])
    answered.future.result(timeout=30)
    gc.disable()
    try:
        worker.close()
        for thread in worker.threads:
            thread.join(timeout=30)
        worker.in_flight._rejection = None
        worker.answer_all([unanswered])
        if is_abandoned:
            worker.abandon(EngineStopped("of a test"))
        else:
            worker.stop()
        assert isinstance(unanswered.future.exception(timeout=0), EngineStopped)
        metrics.end_model("tiny")
        reference = weakref.ref(worker)
        del worker, thread
        assert reference() is None
    finally:
        gc.enable()


def test_an_abandoned_worker_keeps_no_answers(worker: EngineWorker) -> None:
    """A thread that hangs may keep it alive for long."""
    request = SentenceRequest((5, 6, 3), OPTIONS)
    worker.answer_all([request])
    request.future.result(timeout=30)
    assert worker._cache is not None
    assert worker._cache.num_bytes > 0
    worker.abandon(EngineStopped("of a test"))
    assert (worker._cache.num_bytes, len(worker._cache)) == (0, 0)


def test_a_cancellation_may_race_with_the_result() -> None:
    """The engine's thread resets `on_cancel` while the event loop calls it."""
    request, called = SentenceRequest((5, 3), OPTIONS), list[str]()

    class Resolving(Future[SentenceResult]):
        def done(self) -> bool:
            request.on_cancel = None
            return False

    request.future = Resolving()
    request.on_cancel = lambda: called.append("cancelled")
    request.cancel()
    assert (request.is_cancelled, called) == (True, ["cancelled"])


@pytest.mark.parametrize("is_abandoned", [True, False])
def test_sentences_are_refused_by_a_worker_that_stops_while_they_are_queued(
    worker: EngineWorker, monkeypatch: pytest.MonkeyPatch, is_abandoned: bool
) -> None:
    """The thread that queues them holds the lock of the searches."""
    put = worker.queue.put

    def put_and_stop(requests: list[SentenceRequest], reservation: Reservation | None = None) -> None:
        put(requests, reservation)
        stopping = threading.Thread(
            target=lambda: worker.abandon(EngineStopped("of a test")) if is_abandoned else worker.stop()
        )
        stopping.start()
        stopping.join(timeout=30)

    monkeypatch.setattr(worker.queue, "put", put_and_stop)
    errors = list[BaseException]()

    def ask() -> None:
        try:
            worker.answer_all([SentenceRequest((5, 6, 3), OPTIONS), SentenceRequest((7, 3), OPTIONS)])
        except BaseException as error:
            errors.append(error)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(timeout=30)
    assert not asking.is_alive()
    assert [type(error) for error in errors] == [EngineStopped]

"""Threads around the engine: one engine per thread; all of them share one queue and one set of sessions."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import Future, InvalidStateError
from functools import partial
from typing import Any, TypeVar

from server.artifact.artifact import Artifact
from server.artifact.manifest import EXPORT_AGAIN
from server.backends.alignment import Aligner, CannotAlign, IdPair, align_batch
from server.backends.arrays import Floats
from server.backends.base import Backend
from server.backends.context import ContextAttention, ContextBackend, EncodedSource, SentenceContext, States
from server.engine.batches import encoder_batches
from server.engine.coalescing import SearchCoalescer
from server.engine.devices import engine_places, load_tested
from server.engine.engine import Engine
from server.engine.meter import EngineMeter
from server.engine.queue_budget import Reservation
from server.engine.request import EngineStopped, ModelUnavailable, SearchOptions, SentenceRequest, SideTask
from server.engine.scheduler import RequestQueue
from server.engine.translation_cache import TranslationCache
from server.settings import EngineSettings
from server.telemetry.metrics import Metrics

logger = logging.getLogger("ringmt")

Result = TypeVar("Result")

IDLE_WAIT = 0.5
"""Seconds after which an idle thread wakes up for its next heartbeat."""
STUCK_AFTER = 30.0
"""Seconds without a heartbeat after which a thread counts as stuck."""
STOP_SECONDS = 2.0
"""Seconds that `stop` waits for threads to finish their step."""


class EngineWorker:
    """Takes sentences from any thread, decodes them on its own threads, resolves their futures."""

    def __init__(
        self,
        backend: Backend,
        settings: EngineSettings,
        metrics: Metrics,
        model: str,
        others: Sequence[Backend] = (),
    ) -> None:
        """`others`: the same graphs on other devices, which have engines of their own."""
        self._backends = (backend, *others)
        placed = engine_places(self._backends, settings.num_workers)[: settings.slots]
        workers = len(placed)
        self.queue = RequestQueue(settings.max_waiting, settings.max_waiting_tokens)
        self._metrics, self._model = metrics, model
        self._shortest_source = (*backend.manifest.source_prefix, backend.manifest.special_ids.eos)
        self._settings = settings
        self.context: ContextBackend | None = backend.context
        self._backend = backend
        self._local = threading.local()
        """Of a decoding thread: the backend of its engine."""
        meter = EngineMeter(metrics, model)
        shares = [settings.slots // workers + (index < settings.slots % workers) for index in range(workers)]
        self._engines = [
            Engine(place, self.queue, slots, meter, workers) for place, slots in zip(placed, shares, strict=True)
        ]
        self._heartbeats = [time.monotonic()] * workers
        self._threads = [
            threading.Thread(target=self._run, args=(index,), name=f"engine-{model}-{index}", daemon=True)
            for index in range(workers)
        ]
        self._searches = self._share(settings.translation_cache_bytes, meter)
        self._unresolved: set[Future[Any]] = set()
        """Futures of all sentences and side tasks, also of those that a stuck thread works on."""
        self._rejection: EngineStopped | None = None
        """Why no more sentences are accepted; None while they are."""
        self._stopping = False
        self._num_slots = settings.slots
        self.register_metrics()

    def register_metrics(self) -> None:
        """Let the metrics of the model read this worker; it replaces the worker that they read before."""
        metrics, model = self._metrics, self._model
        metrics.slots.labels(model).set(self._num_slots)
        metrics.queue_depth.labels(model).set_function(lambda: self.waiting_sentences)
        metrics.queue_tokens.labels(model).set_function(lambda: self.queue.waiting_tokens)
        metrics.running_sentences.labels(model).set_function(lambda: self.running_sentences)
        metrics.ring_cache_used_slots.labels(model).set_function(lambda: self.running_sentences)
        metrics.ring_cache_bytes.labels(model).set_function(lambda: sum(e.ring_bytes for e in self._engines))
        metrics.source_memory_bytes.labels(model).set_function(lambda: sum(e.source_bytes for e in self._engines))
        metrics.translation_cache_bytes.labels(model).set_function(lambda: self._cache.num_bytes if self._cache else 0)
        metrics.translation_cache_limit_bytes.labels(model).set(self._cache_bytes)

    def _share(self, cache_bytes: int, meter: EngineMeter) -> SearchCoalescer | None:
        """The coalescer; None for a cache of 0 bytes: then every sentence is decoded."""
        self._cache_bytes = cache_bytes
        self._cache = TranslationCache(cache_bytes, meter.evicted) if cache_bytes else None
        if self._cache is None:
            return None
        return SearchCoalescer(self._cache, self.queue.requeue, meter.looked_up)

    @classmethod
    def load(cls, artifact: Artifact, settings: EngineSettings, metrics: Metrics) -> "EngineWorker":
        """Load the artifact's graphs and run the self test. Raises ArtifactError."""
        backends = load_tested(artifact, settings)
        return cls(backends[0], settings, metrics, artifact.manifest.name, backends[1:])

    def replacement(self) -> "EngineWorker":
        """A new worker for the same graphs, with threads, slots and a cache of its own."""
        return EngineWorker(self._backend, self._settings, self._metrics, self._model, self._backends[1:])

    def prepare_scores(self) -> None:
        """Must be called before sentences with targets are submitted; blocks while graphs are loaded. Raises
        CannotScore and ArtifactError."""
        for backend in self._backends:
            backend.prepare_scores()

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def submit(self, request: SentenceRequest) -> None:
        """Queue one sentence. Raises Overloaded or EngineStopped."""
        self.submit_all([request])

    def submit_all(self, requests: Sequence[SentenceRequest], reservation: Reservation | None = None) -> None:
        """Queue all sentences or none; with a `reservation` they are a portion of those that have it. Raises Overloaded
        or EngineStopped."""
        self._check_accepting()
        self.queue.put(list(requests), reservation)
        self._track([request.future for request in requests])

    def answer_all(self, requests: Sequence[SentenceRequest], reservation: Reservation | None = None) -> None:
        """Like `submit_all`, but sentences whose result is cached, or that are being decoded already, are not
        queued."""
        if self._searches is None:
            self.submit_all(requests, reservation)
        else:
            self._searches.submit(requests, self.submit_all, reservation)

    def compute_states(
        self,
        source_ids: Sequence[int],
        target_ids: Sequence[int] = (),
        owner: Hashable = None,
        encoded: EncodedSource | None = None,
    ) -> "Future[States]":
        """The states of one sentence as context (see ContextBackend.compute_states), computed between steps, so that
        sentences in flight are not delayed. Raises Overloaded, EngineStopped, and ValueError for a model without
        context."""
        self._require_context()
        cost = len(source_ids) + len(target_ids)
        return self._submit_side_task(
            lambda: self._require_context().compute_states(source_ids, target_ids, encoded), cost, owner
        )

    def encode_sources(
        self, sources: Iterable[Sequence[int]], owner: Hashable = None
    ) -> "list[Future[list[EncodedSource]]]":
        """Encode sentences once, for their states and all of their translations (see ContextBackend.encode_sources),
        in batches of similar length. Results are in another order than `sources`: each EncodedSource names its source.
        Computed between steps, and raises, as `compute_states`."""
        self._require_context()
        return [
            self._submit_side_task(partial(self._encode_here, batch), sum(map(len, batch)), owner)
            for batch in encoder_batches(sources)
        ]

    def _encode_here(self, sources: Sequence[Sequence[int]]) -> list[EncodedSource]:
        return self._require_context().encode_sources(sources)

    def explain(
        self,
        source_ids: Sequence[int],
        context: SentenceContext,
        target_ids: Sequence[int] = (),
        owner: Hashable = None,
        encoded: EncodedSource | None = None,
    ) -> "Future[ContextAttention]":
        """The attention of a sentence to its context, down to words (see ContextBackend.explain). Computed between
        steps, and raises, as `compute_states`."""
        self._require_context()
        cost = len(source_ids) + len(target_ids)
        return self._submit_side_task(
            lambda: self._require_context().explain(source_ids, context, target_ids, encoded), cost, owner
        )

    @property
    def can_align(self) -> bool:
        """Whether the model has a graph for `align`."""
        return self._backend.aligner is not None

    def prepare_alignments(self) -> None:
        """Must be called before `align`; blocks while a graph is loaded. Raises CannotAlign and ArtifactError."""
        self._require_aligner()
        for backend in self._backends:
            if backend.aligner is not None:
                backend.aligner.prepare()

    def align(self, pairs: Sequence[IdPair], owner: Hashable = None) -> "Future[list[Floats]]":
        """The alignment weights [target piece, source piece] of each pair of source ids with EOS and target ids
        without. All pairs are one batch. Computed between steps, as `compute_states`. Raises Overloaded, EngineStopped
        and CannotAlign."""
        self._require_aligner()
        manifest = self._backend.manifest
        bos, start = manifest.special_ids.bos, manifest.start_length
        longest, cost = manifest.max_target_length + start, sum(len(source) for source, _ in pairs)
        return self._submit_side_task(
            lambda: align_batch(self._require_aligner(), bos, longest, pairs, start), cost, owner
        )

    @property
    def _here(self) -> Backend:
        """The backend of the thread's engine; on other threads the first."""
        backend: Backend = getattr(self._local, "backend", self._backend)
        return backend

    def _require_aligner(self) -> Aligner:
        if self._here.aligner is None:
            raise CannotAlign(
                f"model '{self._model}' has no graph that aligns words: {EXPORT_AGAIN}, or serve it with --backend onnx"
            )
        return self._here.aligner

    def _require_context(self) -> ContextBackend:
        if self._here.context is None:
            raise ValueError(f"model '{self._model}' knows no context")
        return self._here.context

    def _submit_side_task(self, function: Callable[[], Result], cost: int, owner: Hashable) -> "Future[Result]":
        self._check_accepting()
        side_task = SideTask(function, cost, owner)
        self.queue.put_side_task(side_task)
        self._track([side_task.future])
        return side_task.future

    def _check_accepting(self) -> None:
        """Raises EngineStopped."""
        if self._rejection is not None:
            raise type(self._rejection)(*self._rejection.args)

    def _track(self, futures: "Sequence[Future[Any]]") -> None:
        """Keep queued futures until they are resolved."""
        self._unresolved.update(futures)
        for future in futures:
            future.add_done_callback(self._unresolved.discard)
        if self._stopping and self._rejection is not None:  # it stopped after these were accepted
            self._fail_all(self._rejection)

    def _fail_all(self, error: EngineStopped) -> None:
        """Resolve every future that is not resolved yet with `error`."""
        for future in tuple(self._unresolved):
            with contextlib.suppress(InvalidStateError):  # another thread has just resolved or cancelled it
                future.set_exception(error)

    def warm_up(self) -> None:
        """Decode one short sentence. Raises the engine's error, and ModelUnavailable when there is no result after
        STUCK_AFTER seconds."""
        request = SentenceRequest(self._shortest_source, SearchOptions(beam_size=4, max_length=4))
        self.submit(request)
        try:
            request.future.result(timeout=STUCK_AFTER)
        except TimeoutError:
            raise ModelUnavailable(
                f"model '{self._model}' did not translate a first sentence within {STUCK_AFTER:g} seconds"
            ) from None

    @property
    def has_exited(self) -> bool:
        """A thread is not alive."""
        return not all(thread.is_alive() for thread in self._threads)

    @property
    def has_failed(self) -> bool:
        """A thread ended, and nobody stopped it."""
        return self.has_exited and not self._stopping

    @property
    def is_stuck(self) -> bool:
        """A thread has had no heartbeat for STUCK_AFTER seconds."""
        now = time.monotonic()
        return any(now - beat >= STUCK_AFTER for beat in self._heartbeats)

    @property
    def threads(self) -> tuple[threading.Thread, ...]:
        """The decoding threads; a stuck one may be alive after `abandon` and `stop`."""
        return tuple(self._threads)

    @property
    def waiting_sentences(self) -> int:
        return len(self.queue) + sum(len(engine.encoded) for engine in self._engines)

    @property
    def running_sentences(self) -> int:
        return sum(engine.num_running for engine in self._engines)

    def drain(self, timeout: float) -> bool:
        """Accept no more sentences and wait up to `timeout` seconds until all in flight are resolved; returns whether
        they are."""
        self._rejection = self._rejection or EngineStopped("the server is shutting down and takes no more sentences")
        until = time.monotonic() + timeout
        return self.queue.wait_until(lambda: self._stopping or self.queue.is_drained, until)

    def abandon(self, error: EngineStopped) -> None:
        """Accept nothing more, and resolve everything in flight with `error` at once. Threads exit after their current
        step; a stuck thread cannot be ended, and is not waited for."""
        self._rejection, self._stopping = error, True
        self.queue.close()
        self.queue.clear()
        self._fail_all(error)
        if self._cache is not None:  # a stuck thread keeps this worker alive
            self._cache.clear()

    def close(self) -> None:
        """Accept nothing more; threads exit after their current step."""
        self._rejection = self._rejection or EngineStopped("the server is shutting down and takes no more sentences")
        self._stopping = True
        self.queue.close()

    def stop(self, timeout: float = STOP_SECONDS) -> None:
        """Stop the threads and wait up to `timeout` seconds for all of them; sentences in flight get EngineStopped."""
        self.close()
        until = time.monotonic() + timeout
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(max(0.0, until - time.monotonic()))  # a stuck thread must not keep the process alive
        self.queue.clear()
        self._fail_all(EngineStopped("the server was stopped before the sentence was translated"))

    def _run(self, index: int) -> None:
        engine = self._engines[index]
        self._local.backend = engine.backend
        while not self._stopping:
            self._heartbeats[index] = time.monotonic()
            if engine.is_idle:
                self.queue.signal()
                self.queue.wait(IDLE_WAIT)
                continue
            if engine.is_blocked:
                self.queue.wait_for_long_work(engine.num_engines, IDLE_WAIT)
            try:
                engine.step()
            except Exception as error:  # resolve all callers; the engine continues without lanes
                if not self._stopping:  # otherwise they are resolved already, which may have caused the error
                    engine.fail(error)

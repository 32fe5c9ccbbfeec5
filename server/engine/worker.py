"""Threads around the engine: one engine per thread; all of them share one queue and, on a device, one backend."""

import threading
import time
from collections.abc import Sequence

from server.artifact.artifact import Artifact
from server.backends.base import Backend
from server.backends.context import ContextBackend
from server.engine.coalescing import SearchCoalescer
from server.engine.devices import engine_places, load_tested
from server.engine.engine import Engine
from server.engine.engine_thread import EngineThread
from server.engine.in_flight import InFlight
from server.engine.meter import EngineMeter
from server.engine.queue_budget import Reservation
from server.engine.request import EngineStopped, ModelUnavailable, SearchOptions, SentenceRequest
from server.engine.scheduler import RequestQueue
from server.engine.side_tasks import SideTasks
from server.engine.translation_cache import TranslationCache
from server.settings import EngineSettings
from server.telemetry.metrics import Metrics

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
        self.in_flight = InFlight(self.queue)
        self.side_tasks = SideTasks(self._backends, self.in_flight)
        meter = EngineMeter(metrics, model)
        shares = [settings.slots // workers + (index < settings.slots % workers) for index in range(workers)]
        self._engines = [
            Engine(place, self.queue, slots, meter, workers) for place, slots in zip(placed, shares, strict=True)
        ]
        self._threads = [
            EngineThread(engine, self.in_flight, f"engine-{model}-{index}")
            for index, engine in enumerate(self._engines)
        ]
        self._searches = self._share(settings.translation_cache_bytes, meter)
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
        return SearchCoalescer(self._cache, self.in_flight, meter.looked_up)

    @classmethod
    def load(cls, artifact: Artifact, settings: EngineSettings, metrics: Metrics) -> "EngineWorker":
        """Load the artifact's graphs and run the self test. Raises ArtifactError."""
        backends = load_tested(artifact, settings)
        return cls(backends[0], settings, metrics, artifact.manifest.name, backends[1:])

    def replacement(self) -> "EngineWorker":
        """A new worker for the same graphs, with threads, slots and a cache of its own."""
        backend, *others = self._backends
        return EngineWorker(backend, self._settings, self._metrics, self._model, others)

    def prepare_scores(self) -> None:
        """Must be called before sentences with targets are submitted; blocks while graphs are loaded. Raises
        CannotScore and ArtifactError."""
        for backend in self._backends:
            backend.prepare_scores()

    def start(self) -> None:
        for engine in self._threads:
            engine.thread.start()

    def submit(self, request: SentenceRequest) -> None:
        """Queue one sentence. Raises Overloaded or EngineStopped."""
        self.in_flight.submit([request])

    def submit_all(self, requests: Sequence[SentenceRequest]) -> None:
        """Queue all sentences or none. Raises Overloaded or EngineStopped."""
        self.in_flight.submit(requests)

    def answer_all(self, requests: Sequence[SentenceRequest], reservation: Reservation | None = None) -> None:
        """Like `submit_all`, but sentences whose result is cached, or that are being decoded already, are not
        queued."""
        if self._searches is None:
            self.in_flight.submit(requests, reservation)
        else:
            self._searches.submit(requests, reservation)

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
        """Whether a thread is not alive."""
        return not all(engine.thread.is_alive() for engine in self._threads)

    @property
    def has_failed(self) -> bool:
        """Whether a thread ended although the worker was not stopped."""
        return self.has_exited and not self.in_flight.is_stopped

    @property
    def is_stuck(self) -> bool:
        """Whether a thread has had no heartbeat for STUCK_AFTER seconds."""
        now = time.monotonic()
        return any(now - engine.heartbeat >= STUCK_AFTER for engine in self._threads)

    @property
    def threads(self) -> tuple[threading.Thread, ...]:
        """The decoding threads; a stuck one may be alive after `abandon` and `stop`."""
        return tuple(engine.thread for engine in self._threads)

    @property
    def waiting_sentences(self) -> int:
        return len(self.queue) + sum(len(engine.encoded) for engine in self._engines)

    @property
    def running_sentences(self) -> int:
        return sum(engine.num_running for engine in self._engines)

    def drain(self, timeout: float) -> bool:
        """Accept no more sentences and wait up to `timeout` seconds until all in flight are resolved; returns whether
        they are."""
        self.in_flight.reject()
        until = time.monotonic() + timeout
        return self.queue.wait_until(lambda: self.in_flight.is_stopped or self.queue.is_drained, until)

    def abandon(self, error: EngineStopped) -> None:
        """Accept nothing more, and resolve everything in flight with `error` at once. Threads exit after their current
        step; a stuck thread cannot be ended, and is not waited for."""
        self.in_flight.stop(error)
        self.queue.close()
        self.queue.clear()
        self.in_flight.fail_all(error)
        if self._cache is not None:  # a stuck thread keeps this worker alive
            self._cache.clear()

    def close(self) -> None:
        """Accept nothing more; threads exit after their current step."""
        self.in_flight.stop()
        self.queue.close()

    def stop(self, timeout: float = STOP_SECONDS) -> None:
        """Stop the threads and wait up to `timeout` seconds for all of them; sentences in flight get EngineStopped."""
        self.close()
        until = time.monotonic() + timeout
        for thread in self.threads:
            if thread.ident is not None:
                thread.join(max(0.0, until - time.monotonic()))  # a stuck thread must not keep the process alive
        self.queue.clear()
        self.in_flight.fail_all(EngineStopped("the server was stopped before the sentence was translated"))

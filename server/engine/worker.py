"""Threads around the engine: one engine per worker, one waiting room and one set of sessions for all of them."""

import contextlib
import logging
import threading
import time
from collections.abc import Hashable, Iterable, Sequence
from concurrent.futures import Future, InvalidStateError
from functools import partial
from typing import Any, TypeVar

from server.artifact.artifact import EXPORT_AGAIN, Artifact
from server.backends.alignment import Aligner, CannotAlign, IdPair, align_batch
from server.backends.arrays import Floats
from server.backends.base import Backend
from server.backends.context import ContextBackend, ContextUse, EncodedSource, SentenceContext, States
from server.backends.load import load_backend
from server.engine.batches import encoder_batches
from server.engine.coalescing import SearchCoalescer
from server.engine.engine import Engine
from server.engine.meter import EngineMeter
from server.engine.request import EngineStopped, ModelUnavailable, SearchOptions, SentenceRequest, SideTask
from server.engine.scheduler import RequestQueue
from server.engine.self_test import run_self_test
from server.engine.translation_cache import TranslationCache
from server.settings import EngineSettings
from server.telemetry.metrics import Metrics

logger = logging.getLogger("ringmt")

Result = TypeVar("Result")

IDLE_WAIT = 0.5
"""Seconds after which an idle worker wakes up, to show that it is alive."""
STUCK_AFTER = 30.0
"""Seconds without a sign of life after which a worker counts as dead."""
STOP_SECONDS = 2.0
"""Seconds that a stop waits for threads in the middle of a step."""


class EngineWorker:
    """Takes sentences from any thread, runs them on its own threads, resolves their futures."""

    def __init__(self, backend: Backend, settings: EngineSettings, metrics: Metrics, model: str) -> None:
        workers = min(settings.num_workers, settings.slots)
        self.waiting = RequestQueue(settings.max_waiting, settings.max_waiting_tokens)
        self._metrics, self._model, self._eos_id = metrics, model, backend.manifest.special_ids.eos
        self._settings = settings
        self.context: ContextBackend | None = backend.context
        self._backend = backend
        self.prepare_scores = backend.prepare_scores
        """Call it before sentences with targets are submitted; it blocks while graphs are opened. Raises CannotScore
        and ArtifactError."""
        meter = EngineMeter(metrics, model)
        shares = [settings.slots // workers + (index < settings.slots % workers) for index in range(workers)]
        self._engines = [Engine(backend, self.waiting, slots, meter, workers) for slots in shares]
        self._heartbeats = [time.monotonic()] * workers
        self._threads = [
            threading.Thread(target=self._run, args=(index,), name=f"engine-{model}-{index}", daemon=True)
            for index in range(workers)
        ]
        self._searches = self._share(settings.translation_cache_bytes, meter)
        self._unanswered: set[Future[Any]] = set()
        """Of sentences and errands wherever they are: also where a thread that hangs has them in hand."""
        self._refusal: EngineStopped | None = None
        """Why nothing is taken any more."""
        self._stopping = False
        self._num_slots = settings.slots
        self.show()

    def show(self) -> None:
        """Let the metrics of this model's name show this worker, also where they showed another one before."""
        metrics, model = self._metrics, self._model
        metrics.slots.labels(model).set(self._num_slots)
        metrics.queue_depth.labels(model).set_function(lambda: self.waiting_sentences)
        metrics.queue_tokens.labels(model).set_function(lambda: self.waiting.waiting_tokens)
        metrics.running_sentences.labels(model).set_function(lambda: self.running_sentences)
        metrics.ring_cache_used_slots.labels(model).set_function(lambda: self.running_sentences)
        metrics.ring_cache_bytes.labels(model).set_function(lambda: sum(e.ring_bytes for e in self._engines))
        metrics.source_memory_bytes.labels(model).set_function(lambda: sum(e.source_bytes for e in self._engines))
        metrics.translation_cache_bytes.labels(model).set_function(lambda: self._cache.num_bytes if self._cache else 0)
        metrics.translation_cache_limit_bytes.labels(model).set(self._cache_bytes)

    def _share(self, cache_bytes: int, meter: EngineMeter) -> SearchCoalescer | None:
        """The shared searches; None for a cache of 0 bytes: then every sentence is decoded."""
        self._cache_bytes = cache_bytes
        self._cache = TranslationCache(cache_bytes, meter.evicted) if cache_bytes else None
        if self._cache is None:
            return None
        return SearchCoalescer(
            self._cache, lambda requests: self.submit_all(requests), self.waiting.requeue, meter.looked_up
        )

    @classmethod
    def load(cls, artifact: Artifact, settings: EngineSettings, metrics: Metrics) -> "EngineWorker":
        """Load the artifact's graphs and let them translate its goldens. Raises ArtifactError."""
        backend = load_backend(artifact, settings.backend, settings.precision, settings.shortlist, settings.device)
        replayed = run_self_test(artifact, backend, settings.backend, settings.precision)
        if replayed.same < replayed.count:
            logger.warning(
                "model '%s': %d of its %d examples have other tokens here than where it was exported, with scores that "
                "are equal up to rounding",
                artifact.manifest.name,
                replayed.count - replayed.same,
                replayed.count,
            )
        return cls(backend, settings, metrics, artifact.manifest.name)

    def anew(self) -> "EngineWorker":
        """Another worker for the same graphs, with threads, slots and a cache of its own."""
        return EngineWorker(self._backend, self._settings, self._metrics, self._model)

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def submit(self, request: SentenceRequest) -> None:
        """Queue one sentence. Raises Overloaded or EngineStopped."""
        self.submit_all([request])

    def submit_all(self, requests: Sequence[SentenceRequest]) -> None:
        """Queue all of the sentences or none. Raises Overloaded or EngineStopped."""
        self._check_accepting()
        self.waiting.put(list(requests))
        self._note([request.future for request in requests])

    def answer_all(self, requests: Sequence[SentenceRequest]) -> None:
        """Like `submit_all`, but sentences whose answer is cached, or is being searched already, are not queued."""
        searches = self._searches
        if searches is None:
            self.submit_all(requests)
        else:
            searches.submit(requests)

    def represent(
        self,
        source_ids: Sequence[int],
        target_ids: Sequence[int] = (),
        owner: Hashable = None,
        read: EncodedSource | None = None,
    ) -> "Future[States]":
        """What a document keeps of one sentence (see ContextBackend.represent), computed by a worker between steps:
        sentences in flight are not held up. Raises Overloaded, EngineStopped, and ValueError for a model without
        context."""
        context = self._known_context()
        cost = len(source_ids) + len(target_ids)
        return self._send(SideTask(lambda: context.represent(source_ids, target_ids, read), cost, owner))

    def read(self, sources: Iterable[Sequence[int]], owner: Hashable = None) -> "list[Future[list[EncodedSource]]]":
        """Encode sentences once, for their states and all of their translations (see ContextBackend.read), those of
        similar length together. An EncodedSource names its source: the order is another. Computed, and raises, as
        `represent`."""
        context = self._known_context()
        return [
            self._send(SideTask(partial(context.read, batch), sum(map(len, batch)), owner))
            for batch in encoder_batches(sources)
        ]

    def explain(
        self,
        source_ids: Sequence[int],
        context: SentenceContext,
        target_ids: Sequence[int] = (),
        owner: Hashable = None,
        read: EncodedSource | None = None,
    ) -> "Future[ContextUse]":
        """Where a sentence looks in its document, down to words (see ContextBackend.explain); computed, and raises, as
        `represent`."""
        backend = self._known_context()
        cost = len(source_ids) + len(target_ids)
        return self._send(SideTask(lambda: backend.explain(source_ids, context, target_ids, read), cost, owner))

    @property
    def can_align(self) -> bool:
        """Whether `align` is possible."""
        return self._backend.aligner is not None

    def prepare_alignments(self) -> None:
        """Call it before `align`; it blocks while a graph is opened. Raises CannotAlign, and ArtifactError."""
        self._known_aligner().prepare()

    def align(self, pairs: Sequence[IdPair], owner: Hashable = None) -> "Future[list[Floats]]":
        """For each pair of source ids with EOS and target ids without, the weights [piece, source] that say where its
        pieces come from. All pairs are one batch. Computed as `represent`. Raises Overloaded, EngineStopped and
        CannotAlign."""
        aligner, manifest = self._known_aligner(), self._backend.manifest
        bos, longest = manifest.special_ids.bos, manifest.max_target_length
        cost = sum(len(source) for source, _ in pairs)
        return self._send(SideTask(lambda: align_batch(aligner, bos, longest, pairs), cost, owner))

    def _known_aligner(self) -> Aligner:
        if self._backend.aligner is None:
            raise CannotAlign(
                f"model '{self._model}' has no graph that aligns words: {EXPORT_AGAIN}, or serve it with --backend onnx"
            )
        return self._backend.aligner

    def _known_context(self) -> ContextBackend:
        if self.context is None:
            raise ValueError(f"model '{self._model}' knows no context")
        return self.context

    def _send(self, side_task: "SideTask[Result]") -> "Future[Result]":
        self._check_accepting()
        self.waiting.put_side_task(side_task)
        self._note([side_task.future])
        return side_task.future

    def _check_accepting(self) -> None:
        """Raises EngineStopped."""
        if self._refusal is not None:
            raise type(self._refusal)(*self._refusal.args)

    def _note(self, futures: "Sequence[Future[Any]]") -> None:
        """Remember what has been queued until it is answered."""
        self._unanswered.update(futures)
        for future in futures:
            future.add_done_callback(self._unanswered.discard)
        if self._stopping and self._refusal is not None:  # it ended after these were let in
            self._answer_all_with(self._refusal)

    def _answer_all_with(self, error: EngineStopped) -> None:
        """Answer everything that is not answered yet, wherever it is."""
        for future in tuple(self._unanswered):
            with contextlib.suppress(InvalidStateError):  # answered, or cancelled, at this very moment
                future.set_exception(error)

    def warm_up(self) -> None:
        """Decode one short sentence through the engine; raises what went wrong, and ModelUnavailable when there is no
        answer for STUCK_AFTER seconds."""
        request = SentenceRequest((self._eos_id,), SearchOptions(beam_size=4, max_length=4))
        self.submit(request)
        try:
            request.future.result(timeout=STUCK_AFTER)
        except TimeoutError:
            raise ModelUnavailable(
                f"model '{self._model}' did not translate a first sentence within {STUCK_AFTER:g} seconds"
            ) from None

    @property
    def is_healthy(self) -> bool:
        """Every worker thread is alive and gave a sign of life in the last STUCK_AFTER seconds."""
        return not (self.has_ended or self.hangs)

    @property
    def has_ended(self) -> bool:
        """A worker thread is not alive."""
        return not all(thread.is_alive() for thread in self._threads)

    @property
    def hangs(self) -> bool:
        """A worker thread gave no sign of life for STUCK_AFTER seconds."""
        now = time.monotonic()
        return any(now - beat >= STUCK_AFTER for beat in self._heartbeats)

    @property
    def threads(self) -> tuple[threading.Thread, ...]:
        """Those that decode; one that hung may be alive after `abandon` and `stop`."""
        return tuple(self._threads)

    @property
    def waiting_sentences(self) -> int:
        return len(self.waiting) + sum(len(engine.ready) for engine in self._engines)

    @property
    def running_sentences(self) -> int:
        return sum(engine.num_running for engine in self._engines)

    def drain(self, timeout: float) -> bool:
        """Take no more sentences and wait until those in flight are done. False if `timeout` seconds are not enough."""
        self._refusal = self._refusal or EngineStopped("the server is shutting down and takes no more sentences")
        until = time.monotonic() + timeout
        return self.waiting.wait_until(lambda: self._stopping or self.waiting.is_done, until)

    def abandon(self, error: EngineStopped) -> None:
        """Take nothing more, and answer everything that is unanswered with `error` at once. Threads end by themselves,
        as soon as they come back from what they do: one that hangs cannot be ended, and nobody waits for it."""
        self._refusal, self._stopping = error, True
        self.waiting.close()
        self.waiting.empty()
        self._answer_all_with(error)
        self._forget_answers()

    def close(self) -> None:
        """Take nothing more, and let the threads end after the step that they make."""
        self._refusal = self._refusal or EngineStopped("the server is shutting down and takes no more sentences")
        self._stopping = True
        self.waiting.close()

    def stop(self, timeout: float = STOP_SECONDS) -> None:
        """Stop the threads, for which `timeout` seconds are waited in all; sentences in flight get EngineStopped."""
        self.close()
        until = time.monotonic() + timeout
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(max(0.0, until - time.monotonic()))  # one that hangs must not keep the process from ending
        self.waiting.empty()
        self._answer_all_with(EngineStopped("the server was stopped before the sentence was translated"))
        self._forget_answers()

    def _forget_answers(self) -> None:
        """They look back at this worker: memory would wait for the garbage collector."""
        self._searches = self._cache = None

    def _run(self, index: int) -> None:
        engine = self._engines[index]
        while not self._stopping:
            self._heartbeats[index] = time.monotonic()
            if engine.is_idle:
                self.waiting.signal()
                self.waiting.wait(IDLE_WAIT)
                continue
            try:
                engine.step()
            except Exception as error:  # callers must not wait for ever: they get the error, the engine starts afresh
                if not self._stopping:  # otherwise they have been answered, which may be what went wrong
                    engine.fail(error)

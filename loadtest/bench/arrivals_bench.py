"""The requests of `bench load` without HTTP: into this server's engines, and into CTranslate2's workers beside them.

Both have the same weights, in this process, with one thread and one worker for each core. Sentences are cut into pieces
beforehand. What a server adds to these latencies is outside of its engines.
"""

import contextlib
import os
import queue
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from loadtest.bench.ctranslate2_peer import CTranslate2Engine, source_words
from loadtest.bench.ctranslate2_writer import convert
from loadtest.bench.load_bench import KINDS, WARM_UP, LoadPlan, median_level, row
from loadtest.bench.report import Row
from loadtest.open_loop import Level, arrivals, level_of
from model.config import EOS_ID
from model.data.vocabulary import Vocabulary
from model.training.checkpoint import VOCABULARY, load_model
from server.artifact.artifact import Artifact
from server.cli.serve import SWITCH_INTERVAL
from server.engine.devices import load_tested
from server.engine.request import SearchOptions, SentenceRequest, SentenceResult
from server.engine.worker import EngineWorker
from server.settings import EngineSettings
from server.telemetry.metrics import Metrics

Sources = list[tuple[int, ...]]
"""Ids of the sentences of one request, each with EOS."""
PEER_BATCH_TOKENS = 32
"""Of a batch of the peer, as LibreTranslate has them."""
PEER_REQUESTS = 64
"""Requests that the peer has at once; more wait."""


class Translates(Protocol):
    """Takes a request, and calls `done` in any thread when all of its sentences are translated."""

    def translate(self, sources: Sources, done: Callable[[], None]) -> None: ...


class Engines:
    """The engines of a served model, with the server's defaults and no cache."""

    def __init__(self, artifact: Artifact) -> None:
        settings, manifest = EngineSettings(), artifact.manifest
        (backend,) = load_tested(artifact, settings)
        self.worker = EngineWorker(backend, settings, Metrics(), manifest.name)
        self._options = SearchOptions(
            length_penalty=manifest.length_penalty, max_length=manifest.max_target_length, follows_source=True
        )
        self.worker.start()

    def translate(self, sources: Sources, done: Callable[[], None]) -> None:
        requests = [SentenceRequest(source, self._options) for source in sources]
        left = list(requests)
        lock = threading.Lock()

        def on_done(future: "Future[SentenceResult]") -> None:
            with lock:
                left.pop()
                is_last = not left
            if is_last:
                done()

        for request in requests:
            request.future.add_done_callback(on_done)
        self.worker.submit_all(requests)


class Peer:
    """CTranslate2: a request waits in a thread of its own, as in LibreTranslate."""

    def __init__(self, folder: Path) -> None:
        self._engine, self._folder = CTranslate2Engine(folder, "int8", os.cpu_count() or 1, 1), folder
        self._threads = ThreadPoolExecutor(PEER_REQUESTS)

    def translate(self, sources: Sources, done: Callable[[], None]) -> None:
        self._threads.submit(self._translate, sources, done)

    def _translate(self, sources: Sources, done: Callable[[], None]) -> None:
        self._engine.translator.translate_batch(
            [source_words(source, self._folder) for source in sources],
            beam_size=4,
            max_batch_size=PEER_BATCH_TOKENS,
            batch_type="tokens",
            max_decoding_length=20 + 3 * max(map(len, sources)),
        )
        done()

    def close(self) -> None:
        self._threads.shutdown()


def arrival_rows(checkpoint: Path, artifact: Path, sentences: Sequence[str], plan: LoadPlan) -> list[Row]:
    """Latencies of both at every rate, and the processor time that a request takes in this process."""
    ids = Vocabulary(artifact / VOCABULARY).encode(list(sentences))
    sources = {text: (*pieces, EOS_ID) for text, pieces in zip(sentences, ids, strict=True)}
    with contextlib.ExitStack() as stack:
        stack.enter_context(switch_interval(SWITCH_INTERVAL))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        convert(load_model(checkpoint), folder)
        engines = Engines(Artifact.load(artifact))
        stack.callback(engines.worker.stop)
        peer = stack.enter_context(contextlib.closing(Peer(folder)))
        for each in (engines, peer):
            replay(each, sources, *WARM_UP, seed=0)
        return [row for rate in plan.rates for row in rows_of_rate((engines, peer), sources, rate, plan)]


@contextlib.contextmanager
def switch_interval(seconds: float) -> Iterator[None]:
    """Of Python's threads, as in the server."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(seconds)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def rows_of_rate(
    both: Sequence[Translates], sources: Mapping[str, tuple[int, ...]], rate: float, plan: LoadPlan
) -> list[Row]:
    rounds: list[list[Level]] = [[] for _ in both]
    used = [0.0] * len(both)
    for number in range(plan.rounds):
        turns = list(enumerate(both))
        for index, each in turns if number % 2 == 0 else reversed(turns):
            before = time.process_time()
            rounds[index].append(replay(each, sources, rate, plan.seconds, 1 + number))
            used[index] += time.process_time() - before
    ours, theirs = map(median_level, rounds)
    latencies = {kind: (getattr(ours, kind), getattr(theirs, kind)) for kind in KINDS if kind != "throughput"}
    figures = {**latencies, "processor time of a request": (used[0] / ours.sent, used[1] / theirs.sent)}
    return [row(f"{rate:g} requests/s: {name}", 1e3 * us, 1e3 * them, "ms") for name, (us, them) in figures.items()]


def replay(each: Translates, sources: Mapping[str, tuple[int, ...]], rate: float, seconds: float, seed: int) -> Level:
    """Give each request at its time, independently of earlier results. Latencies count from the due time."""
    requests = arrivals(rate, seconds, seed, list(sources))
    ended: queue.SimpleQueue[float] = queue.SimpleQueue()
    started = time.perf_counter()
    for arrival in requests:
        due = started + arrival.at
        time.sleep(max(0.0, due - time.perf_counter()))

        def done(due: float = due) -> None:
            ended.put(time.perf_counter() - due)

        each.translate([sources[text] for text in arrival.texts], done)
    latencies = [ended.get() for _ in requests]
    return level_of(rate, [200] * len(requests), latencies, time.perf_counter() - started)

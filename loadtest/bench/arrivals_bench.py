"""The requests of `bench load` without HTTP: into this server's engines, and into CTranslate2's workers beside them.

Both have the same weights, in this process, with as many workers of one thread as the server has engines. Sentences are
cut into pieces beforehand. What a server adds to these latencies is outside of its engines.
"""

import contextlib
import gc
import queue
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

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
from server.engine.request import SearchOptions, SentenceRequest
from server.engine.worker import EngineWorker
from server.runtime.trim_heap import collect
from server.settings import EngineSettings
from server.telemetry.metrics import Metrics

Sources = list[tuple[int, ...]]
"""Ids of the sentences of one request, each with EOS."""
PEER_BATCH_TOKENS = 32
"""Of a batch of the peer, as LibreTranslate has them."""
PEER_REQUESTS = 64
"""Requests that the peer has at once; more wait."""


class Translates(Protocol):
    """Takes a request; it is answered when all futures have their results."""

    def translate(self, sources: Sources) -> Sequence[Future[Any]]: ...


class Engines:
    """The engines of a served model, with the server's defaults and no cache."""

    def __init__(self, artifact: Artifact, settings: EngineSettings) -> None:
        manifest = artifact.manifest
        (backend,) = load_tested(artifact, settings)
        self.worker = EngineWorker(backend, settings, Metrics(), manifest.name)
        self._options = SearchOptions(
            length_penalty=manifest.length_penalty, max_length=manifest.max_target_length, follows_source=True
        )
        self.worker.start()

    def translate(self, sources: Sources) -> Sequence[Future[Any]]:
        requests = [SentenceRequest(source, self._options) for source in sources]
        self.worker.submit_all(requests)
        return [request.future for request in requests]


class Peer:
    """CTranslate2: a request waits in a thread of its own, as in LibreTranslate."""

    def __init__(self, folder: Path, workers: int) -> None:
        self._engine, self._folder = CTranslate2Engine(folder, "int8", workers, 1), folder
        self._threads = ThreadPoolExecutor(PEER_REQUESTS)

    def translate(self, sources: Sources) -> Sequence[Future[Any]]:
        batch = [source_words(source, self._folder) for source in sources]
        translate = self._engine.translator.translate_batch
        return [
            self._threads.submit(
                translate,
                batch,
                beam_size=4,
                max_batch_size=PEER_BATCH_TOKENS,
                batch_type="tokens",
                max_decoding_length=20 + 3 * max(map(len, sources)),
            )
        ]

    def close(self) -> None:
        self._threads.shutdown()


def arrival_rows(checkpoint: Path, artifact: Path, sentences: Sequence[str], plan: LoadPlan) -> list[Row]:
    """Latencies of both at every rate, and the processor time that a request takes in this process."""
    sources = [(*ids, EOS_ID) for ids in Vocabulary(artifact / VOCABULARY).encode(list(sentences))]
    settings = EngineSettings()
    with contextlib.ExitStack() as stack:
        stack.enter_context(switch_interval(SWITCH_INTERVAL))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        convert(load_model(checkpoint), folder)
        engines = Engines(Artifact.load(artifact), settings)
        stack.callback(engines.worker.stop)
        peer = stack.enter_context(contextlib.closing(Peer(folder, settings.num_workers)))
        for each in (engines, peer):
            replay(each, sources, *WARM_UP, seed=0)
        collect()  # as in the server: a full collection takes 0.4 s of this process, during which the engines wait
        stack.callback(gc.unfreeze)
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


def rows_of_rate(both: Sequence[Translates], sources: Sources, rate: float, plan: LoadPlan) -> list[Row]:
    """Medians of the rounds' latencies; processor time of all rounds."""
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
    figures = {**latencies, "processor time of a request": (used[0] / max(1, ours.sent), used[1] / max(1, theirs.sent))}
    return [row(f"{rate:g} requests/s: {name}", 1e3 * us, 1e3 * them, "ms") for name, (us, them) in figures.items()]


def replay(each: Translates, sources: Sources, rate: float, seconds: float, seed: int) -> Level:
    """Give the requests of `loadtest.open_loop` at their times, independently of earlier results. Latencies count from
    the due time. Raises what a translation raises."""
    requests = arrivals(rate, seconds, seed, [str(index) for index in range(len(sources))])
    replies = list[Reply]()
    started = time.perf_counter()
    for arrival in requests:
        due = started + arrival.at
        time.sleep(max(0.0, due - time.perf_counter()))
        replies.append(Reply(each.translate([sources[int(index)] for index in arrival.texts])))
    latencies = [reply.wait() - started - arrival.at for reply, arrival in zip(replies, requests, strict=True)]
    return level_of(rate, [200] * len(latencies), latencies, time.perf_counter() - started)


class Reply:
    """Notes when the last of a request's futures ends, a time.perf_counter() value."""

    def __init__(self, futures: Sequence[Future[Any]]) -> None:
        self._futures, self._ends = futures, queue.SimpleQueue[float]()
        for future in futures:
            future.add_done_callback(lambda _: self._ends.put(time.perf_counter()))

    def wait(self) -> float:
        """The time; raises what a future raises."""
        for future in self._futures:
            future.result()
        return max(self._ends.get() for _ in self._futures)

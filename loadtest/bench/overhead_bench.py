"""The time of Python around the graphs: one engine with all slots full, time inside and outside of graph calls."""

import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from loadtest.bench.ours import random_artifact
from loadtest.bench.report import Row
from loadtest.bench.shapes import shape
from loadtest.bench.sources import random_sources
from server.backends.base import Backend, ScoreStep, Step
from server.backends.load import load_backend
from server.backends.state import DecoderState, Encoded, Flags, Ints
from server.engine.engine import Engine
from server.engine.meter import EngineMeter
from server.engine.request import SearchOptions, SentenceRequest
from server.engine.scheduler import RequestQueue
from server.telemetry.metrics import Metrics

LENGTH = 24
Result = TypeVar("Result")


class TimedBackend:
    """A backend that sums the seconds spent in its graphs."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.manifest, self.shortlist, self.context = backend.manifest, backend.shortlist, backend.context
        self.aligner, self.device = backend.aligner, backend.device
        self.new_state = backend.new_state
        self.seconds = 0.0

    def encode(self, source_ids: Ints, source_keep: Flags) -> list[Encoded]:
        return self._timed(lambda: self._backend.encode(source_ids, source_keep))

    def bind(self, state: DecoderState) -> Step:
        step = self._backend.bind(state)
        return lambda: self._timed(step)

    def prepare_scores(self) -> None:
        self._backend.prepare_scores()

    def bind_scores(self, state: DecoderState) -> ScoreStep:
        return self._backend.bind_scores(state)

    def _timed(self, call: Callable[[], Result]) -> Result:
        started = time.perf_counter()
        try:
            return call()
        finally:
            self.seconds += time.perf_counter() - started


@dataclass(frozen=True)
class Shares:
    """Seconds of Python in a step that neither admits nor finishes a sentence; its share of such a step; the share of
    Python in whole translations."""

    seconds: float
    of_step: float
    of_all: float


def overhead_rows(name: str, precision: str, beam: int, batches: tuple[int, ...], rounds: int) -> list[Row]:
    """Microseconds of Python per step, its share of the step, and its share of whole translations of 24 pieces: medians
    over rounds of as many sentences as slots."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        config = shape(name, 8)
        backend = load_backend(random_artifact(config, precision, Path(folder), True), "onnx", precision)
        for slots in batches:
            measured = shares(backend, beam, slots, rounds, random_sources(slots, LENGTH, config.vocab_size))
            title = f"{name} {precision} beam {beam}, {slots} slots: Python"
            rows += [
                Row(f"{title} per step", 1e6 * measured.seconds, None, None, "us"),
                Row(f"{title} share of a step", 100 * measured.of_step, None, None, "%"),
                Row(f"{title} share with admission and answers", 100 * measured.of_all, None, None, "%"),
            ]
    return rows


def shares(backend: Backend, beam: int, slots: int, rounds: int, sources: list[tuple[int, ...]]) -> Shares:
    timed = TimedBackend(backend)
    queue = RequestQueue(slots)
    engine = Engine(timed, queue, slots, EngineMeter(Metrics(), "bench"))
    measured = [run_round(engine, timed, queue, beam, sources) for _ in range(rounds + 1)][1:]
    return Shares(*(statistics.median(values) for values in zip(*measured, strict=True)))


def run_round(
    engine: Engine, timed: TimedBackend, queue: RequestQueue, beam: int, sources: list[tuple[int, ...]]
) -> tuple[float, float, float]:
    options = SearchOptions(beam_size=beam, max_length=LENGTH)
    queue.put([SentenceRequest(source, options) for source in sources])
    steady: list[tuple[float, float]] = []  # seconds of Python, of everything
    total = inside = 0.0
    while not engine.is_idle:
        running, timed.seconds, started = engine.num_running, 0.0, time.perf_counter()
        engine.step()
        seconds = time.perf_counter() - started
        total, inside = total + seconds, inside + timed.seconds
        if running == engine.num_running == len(sources):
            steady.append((seconds - timed.seconds, seconds))
    python, whole = (sum(column) for column in zip(*steady, strict=True))
    return python / len(steady), python / whole, 1 - inside / total

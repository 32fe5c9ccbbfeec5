"""How far the engine is from what its matrix products alone take, and where the rest goes.

One engine in one thread. A step is timed as the server runs it, Python included; then the products of its graph run
back to back in the same shapes on random numbers. What no product can be faster than is the time in which one thread
reads its weights from memory.
"""

import statistics
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from loadtest.bench.ours import random_artifact
from loadtest.bench.overhead_bench import LENGTH, TimedBackend, run_round
from loadtest.bench.profiled import ProductsAlone, Profile, ProfiledSession, bandwidth, by_share
from loadtest.bench.report import Row
from loadtest.bench.shapes import shape
from loadtest.bench.sources import random_sources
from server.artifact.artifact import Artifact
from server.backends.arrays import Flags, Ints
from server.backends.memory import Encoded
from server.backends.onnx.backend import OnnxBackend
from server.backends.onnx.session import OnnxGraph
from server.engine.engine import Engine
from server.engine.meter import EngineMeter
from server.engine.scheduler import RequestQueue
from server.telemetry.metrics import Metrics

RUNS = 50
"""Runs of the products in a round."""


class ProfiledBackend(OnnxBackend):
    """A backend whose encoder and steps are profiled."""

    def __init__(self, artifact: Artifact, precision: str, use_shortlist: bool, folder: Path) -> None:
        super().__init__(artifact, precision, use_shortlist)
        self.sessions = {
            "encode": ProfiledSession(artifact, self._encode.name, folder),
            "step": ProfiledSession(artifact, self._step.name, folder),
        }
        self._encode = OnnxGraph(self._encode.name, self.sessions["encode"].session, self._encode.signature)
        self._step = OnnxGraph(self._step.name, self.sessions["step"].session, self._step.signature)


class CallTimer(TimedBackend):
    """Keeps the sentences and seconds of each call of the encoder, which takes a few sentences at a time."""

    def __init__(self, backend: OnnxBackend) -> None:
        super().__init__(backend)
        self.encodes: list[tuple[int, float]] = []

    def encode(self, source_ids: Ints, source_keep: Flags) -> list[Encoded]:
        before = self.seconds
        encoded = super().encode(source_ids, source_keep)
        self.encodes.append((len(source_ids), self.seconds - before))
        return encoded


def limit_rows(
    name: str, precision: str, beam: int, batches: tuple[int, ...], rounds: int, use_shortlist: bool = True
) -> list[Row]:
    """For the encoder and the step of each batch size: microseconds beside those of the products alone, and the parts
    of the rest."""
    rows = []
    read = bandwidth()
    with tempfile.TemporaryDirectory() as folder:
        config = shape(name, 8)
        artifact = random_artifact(config, precision, Path(folder), use_shortlist)
        backend = OnnxBackend(artifact, precision, use_shortlist)
        for slots in batches:
            sources = random_sources(slots, LENGTH, config.vocab_size)
            profiled = ProfiledBackend(artifact, precision, use_shortlist, Path(folder))
            one_round(CallTimer(profiled), beam, slots, sources)
            profiles = {part: session.profile() for part, session in profiled.sessions.items()}
            alone = {
                part: ProductsAlone(session.optimized, profiles[part]) for part, session in profiled.sessions.items()
            }
            for part, (wall, products) in measured(backend, alone, beam, slots, rounds, sources).items():
                title = f"{name} {precision} beam {beam}, {slots} sentences, {part}"
                rows.append(Row(title, 1e6 * wall, 1e6 * products, wall / products, "us"))
                rows += parts(title, wall, profiles[part], alone[part].weight_bytes / read)
    rows.append(Row("memory that one thread reads", read / 1e9, None, None, "GB/s"))
    return rows


def parts(title: str, wall: float, profile: Profile, reading: float) -> Iterator[Row]:
    """The kernels of each group as the profiler saw them, what is outside of kernels, and the weights' way from
    memory."""
    for group, seconds in by_share(profile.seconds):
        yield Row(f"{title}: {group}", 1e6 * seconds, None, None, "us")
    yield Row(f"{title}: outside of kernels", 1e6 * max(0.0, wall - sum(profile.seconds.values())), None, None, "us")
    yield Row(f"{title}: reading the weights of products once", 1e6 * reading, None, None, "us")


def measured(
    backend: OnnxBackend,
    alone: Mapping[str, ProductsAlone],
    beam: int,
    slots: int,
    rounds: int,
    sources: list[tuple[int, ...]],
) -> dict[str, tuple[float, float]]:
    """Seconds of a call of the encoder and of a step in which all slots run, Python included, each with those of its
    products: medians of alternating rounds after one that does not count. The encoder is left out where its calls have
    different numbers of sentences."""
    timer, walls = CallTimer(backend), dict[str, list[float]](encode=[], step=[])
    products: dict[str, list[float]] = {part: [] for part in alone}
    for _ in range(1 + rounds):
        timer.encodes.clear()
        walls["step"].append(one_round(timer, beam, slots, sources))
        walls["encode"].append(statistics.mean(seconds for _, seconds in timer.encodes))
        for part, run in alone.items():
            products[part].append(run.seconds(RUNS))
    are_alike = len({sentences for sentences, _ in timer.encodes}) == 1
    return {
        part: (statistics.median(walls[part][1:]), statistics.median(products[part][1:]))
        for part in (("encode", "step") if are_alike else ("step",))
    }


def one_round(timer: CallTimer, beam: int, slots: int, sources: list[tuple[int, ...]]) -> float:
    """Translate the sources; mean seconds of a step that neither admits nor finishes a sentence."""
    queue = RequestQueue(slots)
    engine = Engine(timer, queue, slots, EngineMeter(Metrics(), "bench"))
    python, share, _ = run_round(engine, timer, queue, beam, sources)
    return python / share

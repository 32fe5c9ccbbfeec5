"""Open-loop load at rising rates: this server beside CTranslate2 behind FastAPI, or beside LibreTranslate.

Both serve the same checkpoint at int8 with beam 4. A request has 1 to 8 sentences, each a text by itself, or, beside
LibreTranslate, all one text for `/translate`; arrivals are Poisson; both servers get the same requests at the same
times, in alternating turns. The rates rise until neither server keeps its 95th percentile below the objective.
"""

import asyncio
import contextlib
import functools
import math
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadtest.bench.ctranslate2_writer import convert
from loadtest.bench.http_bench import free_port, running_server
from loadtest.bench.libretranslate_peer import libretranslate
from loadtest.bench.report import Row
from loadtest.open_loop import Level, highest_rate, libretranslate_request, native_request, offer
from model.training.checkpoint import find_vocabulary, load_model
from server.artifact.manifest import read_manifest

OBJECTIVE = 0.5
"""Seconds that the 95th percentile must stay below."""
TIMEOUT = 20.0
"""Seconds after which a request has failed."""
WARM_UP = (5.0, 2.0)
"""Rate and seconds of the warm-up load."""
KINDS = ("throughput", "p50", "p95", "p99")


@dataclass(frozen=True)
class LoadPlan:
    """`rates` in requests a second, each for `seconds`, `rounds` times for both servers."""

    rates: Sequence[float] = (5, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 150)
    seconds: float = 30.0
    rounds: int = 3


def load_rows(
    checkpoint: Path,
    artifact: Path,
    sentences: Sequence[str],
    plan: LoadPlan,
    libretranslate_python: Path | None = None,
) -> list[Row]:
    """Throughput and latencies of both servers at every rate, and the highest rates at which the objective is kept. The
    peer is LibreTranslate in the environment of `libretranslate_python`, by default CTranslate2 behind FastAPI."""
    ports = [free_port(), free_port()]
    bases = [f"http://127.0.0.1:{port}" for port in ports]
    ours = [sys.executable, "-m", "server.cli", "serve", "--port", str(ports[0]), "--models", str(artifact)]
    ours += ["--log-level", "error", "--translation-cache-bytes", "0"]  # the peer has no cache, either
    with contextlib.ExitStack() as stack:
        stack.enter_context(running_server(ours, bases[0], "/readyz"))
        if libretranslate_python is None:
            stack.enter_context(ctranslate2_server(checkpoint, ports[1]))
            return rows_of(levels(bases, sentences, plan))
        manifest = read_manifest(artifact)
        languages = manifest.source_language, manifest.target_language
        stack.enter_context(libretranslate(libretranslate_python, checkpoint, languages, ports[1]))
        return rows_of(levels(bases, sentences, plan, libretranslate_request))


@contextlib.contextmanager
def ctranslate2_server(checkpoint: Path, port: int) -> Iterator[None]:
    """CTranslate2 behind FastAPI with a checkpoint's weights."""
    with tempfile.TemporaryDirectory() as folder:
        convert(load_model(checkpoint), Path(folder))
        files = [folder, str(find_vocabulary(checkpoint))]
        command = [sys.executable, "-m", "loadtest.bench.http_peer", *files, str(port)]
        with running_server(command, f"http://127.0.0.1:{port}", "/openapi.json"):
            yield


def levels(
    bases: Sequence[str],
    sentences: Sequence[str],
    plan: LoadPlan,
    request_of: Callable[[Sequence[str]], tuple[str, dict[str, object]]] = native_request,
) -> list[list[Level]]:
    """For each server its levels at all rates up to the last that was measured."""
    measure = functools.partial(offer, sentences=sentences, timeout=TIMEOUT, request_of=request_of)
    measured: list[list[Level]] = [[] for _ in bases]
    for base in bases:
        asyncio.run(measure(base, *WARM_UP, seed=0))
    for rate in plan.rates:
        rounds: list[list[Level]] = [[] for _ in bases]
        for number in range(plan.rounds):
            turns = list(zip(bases, rounds, strict=True))
            for base, results in turns if number % 2 == 0 else reversed(turns):
                seed = 1 + number
                results.append(asyncio.run(measure(base, rate, plan.seconds, seed)))
        for all_levels, results in zip(measured, rounds, strict=True):
            all_levels.append(median_level(results))
        print(
            f"{rate:g} requests/s: p95 {[round(server[-1].p95, 3) for server in measured]} s",
            file=sys.stderr,
            flush=True,
        )
        if all(highest_rate(server, OBJECTIVE) < rate for server in measured):
            break
    return measured


def median_level(rounds: Sequence[Level]) -> Level:
    """Medians of latencies and throughput, sums of counts. Without any response, latencies are TIMEOUT."""

    def median(kind: str) -> float:
        values = [getattr(level, kind) for level in rounds]
        return statistics.median(TIMEOUT if math.isnan(value) else value for value in values)

    def total(count: str) -> int:
        return sum(getattr(level, count) for level in rounds)

    counts = (total("sent"), total("answered"), total("refused"), total("failed"))
    return Level(rounds[0].rate, *counts, *(median(kind) for kind in KINDS))


def rows_of(measured: Sequence[Sequence[Level]]) -> list[Row]:
    """Ours first, the peer second."""
    ours, peer = measured
    rows = []
    for level, peer_level in zip(ours, peer, strict=True):
        for kind in KINDS:
            unit = "requests/s" if kind == "throughput" else "s"
            rows.append(
                row(f"{level.rate:g} requests/s: {kind}", getattr(level, kind), getattr(peer_level, kind), unit)
            )
        lost = [measured.refused + measured.failed for measured in (level, peer_level)]
        if any(lost):
            rows.append(row(f"{level.rate:g} requests/s: refused or given up", lost[0], lost[1], f"of {level.sent}"))
    highest = [highest_rate(server, OBJECTIVE) for server in measured]
    rows.append(row(f"highest rate with p95 below {OBJECTIVE:g} s", highest[0], highest[1], "requests/s"))
    return rows


def row(name: str, ours: float, peer: float, unit: str) -> Row:
    return Row(name, ours, peer, ours / peer if peer else None, unit)

"""Alternating rounds: in each round every competitor has one turn; medians and ratios of one run."""

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

TURN_SECONDS = 0.4
"""Least time of a turn."""


@dataclass(frozen=True)
class CompetitorOptions:
    """Engine, model and threads. `order`: N, None for full attention; `config`: a ModelConfig's dictionary, instead of
    a shape."""

    engine: str
    shape: str
    precision: str
    order: int | None
    workers: int = 1
    threads: int = 1
    config: dict[str, Any] | None = None
    shortlist: bool = False
    """Score a shortlist of words (CTranslate2: a vocabulary map)."""


@dataclass(frozen=True)
class Workload:
    """The work of one call."""

    batch: int
    beam: int = 4
    source_length: int = 24
    target_length: int = 24


class CompetitorProcess:
    """A competitor in its own process, behind pipes."""

    def __init__(self, options: CompetitorOptions, folder: str) -> None:
        command = [sys.executable, "-m", "loadtest.bench.competitor", json.dumps(asdict(options) | {"folder": folder})]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a competitor ended early with status {self._process.wait()}")
        response: dict[str, Any] = json.loads(line)
        return response

    def seconds(self, workload: Workload) -> float:
        """Wall-clock seconds of a call, the mean of one turn."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asdict(workload) | {"turn_seconds": TURN_SECONDS}) + "\n")
        self._process.stdin.flush()
        return float(self._read()["seconds"])

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()


@contextlib.contextmanager
def competitors(options: Sequence[CompetitorOptions]) -> Iterator[list[CompetitorProcess]]:
    """Start all competitors and load their models; an idle competitor sleeps on its pipe."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        processes = []
        for index, competitor_options in enumerate(options):
            subfolder = f"{folder}/{index}"
            os.mkdir(subfolder)
            process = CompetitorProcess(competitor_options, subfolder)
            stack.callback(process.close)
            processes.append(process)
        yield processes


def alternate(processes: Sequence[CompetitorProcess], workload: Workload, rounds: int) -> list[list[float]]:
    """Tokens per second of every competitor and round; a warm-up round does not count."""
    tokens = workload.batch * workload.target_length
    speeds: list[list[float]] = [[] for _ in processes]
    for number in range(rounds + 1):
        for process, process_speeds in zip(processes, speeds, strict=True):
            speed = tokens / process.seconds(workload)
            if number:
                process_speeds.append(speed)
    return speeds


def median(values: Sequence[float]) -> float:
    return statistics.median(values)

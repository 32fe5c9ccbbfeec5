"""Alternating rounds: in each round every competitor has one turn; medians and ratios of one run."""

import contextlib
import hashlib
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

TURN_SECONDS = 0.4
"""Least time of a turn."""
COMPLETE = "complete"
"""In the folder of a model that was written to its end."""


@dataclass(frozen=True)
class CompetitorOptions:
    """Engine, model and threads. `order`: N, None for full attention; `config`: a ModelConfig as JSON, instead of a
    shape."""

    engine: str
    shape: str
    precision: str
    order: int | None
    workers: int = 1
    threads: int = 1
    config: str | None = None
    shortlist: bool = False
    """Score a shortlist of words (CTranslate2: a vocabulary map)."""
    intra_threads: str = "auto"
    """The setting of the server: threads that compute a step of ours together."""

    @property
    def model(self) -> "CompetitorOptions":
        """What the model that is written depends on: those with and without a shortlist are one."""
        return replace(self, workers=1, threads=1, shortlist=False, intra_threads="auto")


@dataclass(frozen=True)
class Workload:
    """The work of one call."""

    batch: int
    beam: int = 4
    source_length: int = 24
    target_length: int = 24


class CompetitorProcess:
    """A competitor in its own process, behind pipes."""

    def __init__(self, options: CompetitorOptions, folder: Path) -> None:
        command = module_command("loadtest.bench.competitor", _described(options, folder))
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a competitor ended early with status {self._process.wait()}")
        response: dict[str, Any] = json.loads(line)
        return response

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._read()

    def seconds(self, workload: Workload, of_processor: bool = False) -> float:
        """Seconds of a call by the wall clock, or of processor time; the mean of one turn."""
        answer = self._ask(asdict(workload) | {"turn_seconds": TURN_SECONDS})
        return float(answer["processor_seconds" if of_processor else "seconds"])

    def bytes(self) -> int:
        """Memory that the model has taken since it was loaded, with all that was translated."""
        return int(self._ask({"memory": True})["bytes"])

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()


def module_command(module: str, given: Any) -> list[str]:
    return [sys.executable, "-m", module, json.dumps(given)]


def _described(options: CompetitorOptions, folder: Path) -> dict[str, Any]:
    return asdict(options) | {"folder": str(folder)}


@contextlib.contextmanager
def competitors(options: Sequence[CompetitorOptions], models: Path | None = None) -> Iterator[list[CompetitorProcess]]:
    """Start all competitors and load their models, which are in the folder `models` or are written there; by default in
    a temporary folder. An idle competitor sleeps on its pipe."""
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:
        folders = written_models(options, models or Path(scratch))
        processes = []
        for competitor_options in options:
            process = CompetitorProcess(competitor_options, folders[competitor_options.model])
            stack.callback(process.close)
            processes.append(process)
        yield processes


def written_models(options: Sequence[CompetitorOptions], models: Path) -> dict[CompetitorOptions, Path]:
    """The folder of each model; one process writes those that are missing, one after the other."""
    listed = {option.model for option in options if option.shortlist}
    folders, missing = dict[CompetitorOptions, Path](), list[dict[str, Any]]()
    for model in dict.fromkeys(option.model for option in options):
        written = replace(model, shortlist=model in listed)
        name = hashlib.sha256(json.dumps(asdict(written), sort_keys=True).encode()).hexdigest()[:12]
        folders[model] = folder = models / f"{model.engine}-{model.shape or 'model'}-{name}"
        if not (folder / COMPLETE).exists():
            folder.mkdir(parents=True)
            missing.append(_described(written, folder))
    if missing:
        subprocess.run(module_command("loadtest.bench.model_writer", missing), check=True)
    return folders


def alternate(
    processes: Sequence[CompetitorProcess], workload: Workload, rounds: int, of_processor: bool = False
) -> list[list[float]]:
    """Tokens per second, or per second of processor time, of every competitor and round; a warm-up round does not
    count."""
    tokens = workload.batch * workload.target_length
    speeds: list[list[float]] = [[] for _ in processes]
    for number in range(rounds + 1):
        for process, process_speeds in zip(processes, speeds, strict=True):
            speed = tokens / process.seconds(workload, of_processor)
            if number:
                process_speeds.append(speed)
    return speeds


def median(values: Sequence[float]) -> float:
    return statistics.median(values)

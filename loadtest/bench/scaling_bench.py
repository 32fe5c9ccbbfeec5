"""What a request costs on this machine, stage by stage, and from that what more cores would give.

The server runs on one core with one decoding thread, its clients on another one. Processor times of its threads are
those of the kernel's books. `scaling_model` has the formulas; the same formulas are compared with measurements on the
cores that there are."""

import asyncio
import contextlib
import os
import resource
import shutil
import statistics
import sys
import tempfile
import urllib.request
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from loadtest.bench.http_bench import answers, free_port, running_server, sentences
from loadtest.bench.limit_bench import CallTimer, ProfiledBackend, one_round
from loadtest.bench.overhead_bench import LENGTH, shares
from loadtest.bench.profiled import ProductsAlone, bandwidth
from loadtest.bench.report import Row
from loadtest.bench.scaling_model import Demands, bound
from model.config import EOS_ID
from model.data.vocabulary import Vocabulary
from model.training.checkpoint import VOCABULARY
from server.artifact.artifact import Artifact
from server.backends.load import load_backend
from server.cli.process_shape import CORES_A_PROCESS
from server.settings import Settings

BODY = {"source": "en", "target": "de", "beam_size": 4}
CLIENTS_A_CORE = 8
REQUESTS = 256
"""Of a turn and core."""
CORES = (1, 2, 4, 8, 16, 32, 64)
TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


@dataclass(frozen=True)
class Engine:
    """Share of Python in an engine's thread, and bytes of weights that it reads in a second of graphs."""

    python: float
    bytes_per_second: float


@dataclass(frozen=True)
class Turn:
    """Of a run: requests a second; of each request the seconds of the clients, and by thread those of the server in
    user mode and in the kernel, the event loop first."""

    throughput: float
    client: float
    threads: tuple[tuple[float, float], ...]


def scaling_rows(
    artifact: Path, examples: list[str], rounds: int, requests: int = REQUESTS, cores: Sequence[int] = CORES
) -> list[Row]:
    """Stages; bounds beside measurements; bounds for `cores`, with several processes beside one."""
    vocabulary = Vocabulary(artifact / VOCABULARY)
    texts = sentences(examples, vocabulary, requests)
    alike = [(*ids[:LENGTH], EOS_ID) for ids in vocabulary.encode(texts) if len(ids) >= LENGTH]
    engine = of_engine(Artifact.load(artifact), alike[:CLIENTS_A_CORE], rounds)
    own = sorted(os.sched_getaffinity(0))
    turns = [measured(artifact, texts, own[:1], own[-1:], 1, 1) for _ in range(rounds)]
    demands = demands_of(turns, engine)
    on_one_core = statistics.median(turn.throughput for turn in turns)
    is_shared = len(own) == 1
    rows = stage_rows(demands, engine)
    rows += [beside("1 core, 1 process", replace(demands, client=is_shared * client_of(turns)), 1, 1, 1, on_one_core)]
    if not is_shared:
        pair = own[:2]
        for processes in (1, 2):
            together = [
                measured(artifact, texts * 2, pair, pair, processes, 2 // processes, CLIENTS_A_CORE * 2)
                for _ in range(rounds)
            ]
            shared = replace(demands, client=client_of(together))
            seen = statistics.median(turn.throughput for turn in together)
            rows.append(
                beside(f"2 cores with the clients, {counted(processes, 'process')}", shared, 2, processes, 2, seen)
            )
    connection = passing(artifact, requests)
    rows.append(Row("a connection: accepted and passed on by the supervisor", 1e3 * connection, None, None, "ms"))
    return [*rows, *bound_rows(demands, cores)]


def beside(name: str, demands: Demands, cores: int, processes: int, threads: int, seen: float) -> Row:
    at_most = bound(demands, cores, processes, threads // processes or 1)
    return Row(f"{name}: bound ({at_most.limit}), measured", at_most.throughput, seen, at_most.throughput / seen, "1/s")


def stage_rows(demands: Demands, engine: Engine) -> list[Row]:
    stages = {
        "event loop": demands.loop,
        "text, beside the loop": demands.text,
        "Python between steps": demands.steps,
        "graphs": demands.graphs,
        "kernel": demands.kernel,
    }
    rows = [Row(f"a request: {name}", 1e3 * seconds, None, None, "ms") for name, seconds in stages.items()]
    reading, most = engine.bytes_per_second, bandwidth()
    return [
        *rows,
        Row("cores that one interpreter keeps busy", demands.cores_of_a_process, None, None, "cores"),
        Row("weights that an engine reads; what a thread reads", reading / 1e9, most / 1e9, reading / most, "GB/s"),
    ]


def bound_rows(demands: Demands, cores: Sequence[int]) -> Iterator[Row]:
    """Several processes as `--processes auto` makes them, beside one with a thread for each core, and one as it is by
    default."""
    for number in cores:
        processes = -(-number // CORES_A_PROCESS)
        several = bound(demands, number, processes, max(1, min(CORES_A_PROCESS, number // processes)))
        single = bound(demands, number, 1, number)
        default = bound(demands, number, 1, min(CORES_A_PROCESS, number))
        name = f"{counted(number, 'core')}, {counted(processes, 'process')} ({several.limit}); one ({single.limit})"
        yield Row(name, several.throughput, single.throughput, several.throughput / single.throughput, "1/s")
        if default != single:
            yield Row(
                f"{number} cores, one process by default ({default.limit})", default.throughput, None, None, "1/s"
            )


def counted(number: int, name: str) -> str:
    return f"{number} {name}{'es' * name.endswith('s') or 's' if number > 1 else ''}"


def of_engine(artifact: Artifact, sources: list[tuple[int, ...]], rounds: int) -> Engine:
    """Of the artifact's int8 graphs with all slots taken by sources of like length."""
    backend = load_backend(artifact, "onnx", "int8")
    python = shares(backend, 4, len(sources), rounds, sources).of_all
    with tempfile.TemporaryDirectory() as folder:
        for weights in artifact.folder.glob("*.bin"):  # what the optimized graph reads beside itself
            shutil.copy(weights, folder)
        profiled = ProfiledBackend(artifact, "int8", backend.shortlist, Path(folder))
        seconds = one_round(CallTimer(profiled), 4, len(sources), sources)
        step = profiled.sessions["step"]
        read = ProductsAlone(step.optimized, step.profile()).weight_bytes
    return Engine(python, read / seconds)


def demands_of(turns: Sequence[Turn], engine: Engine) -> Demands:
    """Medians of turns with one decoding thread, which is the one that works most beside the event loop."""
    (loop, _), *others = (tuple(map(statistics.median, zip(*column, strict=True))) for column in by_thread(turns))
    decoding = max((user for user, _ in others), default=0.0)
    kernel = statistics.median(sum(system for _, system in turn.threads) for turn in turns)
    graphs = decoding * (1 - engine.python)
    return Demands(
        loop=loop,
        text=sum(user for user, _ in others) - decoding,
        steps=decoding * engine.python,
        graphs=graphs,
        kernel=kernel,
        read_bytes=graphs * engine.bytes_per_second,
    )


def by_thread(turns: Sequence[Turn]) -> Iterator[list[tuple[float, float]]]:
    """The times of the event loop in each turn, then those of other threads, the busiest first."""
    ordered = [[turn.threads[0], *sorted(turn.threads[1:], reverse=True)] for turn in turns]
    longest = max(map(len, ordered))
    for index in range(longest):
        yield [threads[index] if index < len(threads) else (0.0, 0.0) for threads in ordered]


def client_of(turns: Sequence[Turn]) -> float:
    return statistics.median(turn.client for turn in turns)


def measured(
    artifact: Path,
    texts: list[str],
    cores: Collection[int],
    of_clients: Collection[int],
    processes: int,
    threads: int,
    clients: int = CLIENTS_A_CORE,
) -> Turn:
    """A server on these cores, after a turn that does not count."""
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    bodies = [{**BODY, "text": text} for text in texts]
    with tempfile.TemporaryDirectory() as folder, on_cores(of_clients):
        command = [sys.executable, "-m", "server.cli", "serve", "--port", str(port), "--models", str(artifact)]
        command += ["--log-level", "error", "--translation-cache-bytes", "0", "--num-workers", str(threads * processes)]
        command += ["--slots", str(max(Settings().engine.slots, CLIENTS_A_CORE * threads * processes))]
        command += ["--processes", str(processes), "--context-store", f"sqlite:///{folder}/store.db"]
        pinned = ["taskset", "-c", ",".join(map(str, cores)), *command]
        others = set(children())
        with running_server(pinned, base, "/readyz"):
            asyncio.run(answers(base, bodies[: 2 * clients], clients))
            before, [server] = own_seconds(), set(children()) - others
            threads_before = times_of(server)
            result = asyncio.run(answers(base, bodies, clients))
            spent = own_seconds() - before
            threads_after = times_of(server)
    each = {
        thread: tuple(
            (after - threads_before.get(thread, (0.0, 0.0))[part]) / len(bodies) for part, after in enumerate(now)
        )
        for thread, now in threads_after.items()
    }
    loop = each.pop(server)
    return Turn(
        len(bodies) / result.seconds, spent / len(bodies), ((loop[0], loop[1]), *((u, s) for u, s in each.values()))
    )


def passing(artifact: Path, connections: int) -> float:
    """Seconds of the supervisor for a connection that it accepts and passes to one of two processes."""
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "server.cli", "serve", "--port", str(port), "--models", str(artifact)]
        command += ["--log-level", "error", "--processes", "2", "--context-store", f"sqlite:///{folder}/store.db"]
        others = set(children())
        with running_server(command, base, "/readyz"):
            [supervisor] = set(children()) - others
            before = seconds_of(supervisor)
            for _ in range(connections):
                urllib.request.urlopen(f"{base}/livez").close()
            return (seconds_of(supervisor) - before) / connections


def seconds_of(pid: int) -> float:
    """Processor time of a process with one thread."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def own_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


@contextlib.contextmanager
def on_cores(cores: Collection[int]) -> Iterator[None]:
    """This thread runs on these cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def children() -> list[int]:
    """Processes that this one has started."""
    listed = [text for file in Path("/proc/self/task").glob("*/children") for text in file.read_text().split()]
    return [int(each) for each in listed]


def times_of(pid: int) -> dict[int, tuple[float, float]]:
    """Seconds of each thread of a process, in user mode and in the kernel."""
    found = dict[int, tuple[float, float]]()
    for folder in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            found[int(folder.name)] = int(fields[11]) / TICKS, int(fields[12]) / TICKS
    return found

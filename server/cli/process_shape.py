"""How many processes a server has, and what each of them gets of the machine and of the server's limits."""

import dataclasses
import math
import sys
from collections.abc import Mapping, Sequence

from server.runtime.cpu_cores import usable_cores
from server.runtime.setting_fields import SettingsError
from server.settings import EngineSettings, Settings

CORES_A_PROCESS = 4
"""Cores that one process uses well: an engine has as many threads by default, and their steps share one interpreter."""
SLOTS_A_THREAD = 8
MOST_PROCESSES = 256
"""The slot of a process is one byte of the ids that it gives to files."""
AUTO = "auto"


def num_processes(settings: Settings, cores: int | None = None) -> int:
    """Raises SettingsError for several processes where they cannot be one server."""
    cores = usable_cores() if cores is None else cores
    count = math.ceil(cores / CORES_A_PROCESS) if settings.processes == AUTO else int(settings.processes)
    count = min(count, MOST_PROCESSES) if settings.processes == AUTO else count
    if count > MOST_PROCESSES:
        raise SettingsError(f"processes must be at most {MOST_PROCESSES}, not {count}")
    if count == 1:
        return 1
    if sys.platform != "linux":
        raise SettingsError(
            f"processes {settings.processes}: several processes are one server on Linux only; here, start servers on "
            "ports of their own with one context_store, and a balancer before them"
        )
    if settings.context_store == "memory://":
        raise SettingsError(
            f"processes {settings.processes}: {count} processes cannot share documents in memory://: give "
            "--context-store sqlite:///PATH or redis://HOST:PORT/DB, or --processes 1"
        )
    return count


def divided(settings: Settings, count: int, cores: int | None = None) -> Settings:
    """What each of `count` processes gets. Limits of bytes and numbers for the whole server are divided, but each
    process keeps what one request may need; threads and slots are divided if they are set, and else follow the cores
    of a process."""
    cores = usable_cores() if cores is None else cores
    default, engine = EngineSettings(), settings.engine
    threads = max(1, min(CORES_A_PROCESS, cores // count))
    if engine.num_workers != default.num_workers:
        threads = _part(engine.num_workers, count)
    slots = _part(engine.slots, count)
    if engine.slots == default.slots:
        slots = max(slots, SLOTS_A_THREAD * threads)
    return dataclasses.replace(
        settings,
        engine=dataclasses.replace(
            engine,
            num_workers=threads,
            slots=slots,
            translation_cache_bytes=engine.translation_cache_bytes // count,
        ),
        context_cache_bytes=settings.context_cache_bytes // count,
        max_connections=_part(settings.max_connections, count),
        max_bodies_bytes=max(settings.max_body_bytes, settings.max_bodies_bytes // count),
        max_model_memory=settings.max_model_memory // count,
        file_processes=_part(settings.file_processes, count),
    )


def described(share: Settings, count: int, cores: int | None = None) -> str:
    """One line for the log."""
    cores = usable_cores() if cores is None else cores
    engine = share.engine
    return (
        f"{count} processes on {cores} cores; each: {engine.num_workers} decoding threads and {engine.slots} slots a "
        f"model, {share.file_processes} processes for files, {share.max_connections} connections, 1 BLAS thread"
    )


def blas_threads(words: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Variables for the command line `words` of `ringmt serve`, before NumPy is imported: with several processes, BLAS
    has no threads of its own. Engines have threads enough, and a process without other threads can be forked."""
    wanted = environ.get("RINGMT_PROCESSES", "1")
    for word, following in zip(words, (*words[1:], ""), strict=False):
        name, _, value = word.partition("=")
        if name == "--processes":
            wanted = value or following
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return {} if wanted == "1" else {name: "1" for name in names if name not in environ}


def _part(number: int, count: int) -> int:
    return math.ceil(number / count)

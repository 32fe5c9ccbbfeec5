"""Limits of one file's processor time, memory and size, which a parser process sets for itself. Linux has all of these
limits; macOS counts no memory; Windows has none, so that only the time until an answer is bounded there."""

import contextlib
import math
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from server.runtime.process_memory import address_space_bytes
from server.runtime.processes.parent_death import end_with_parent

if sys.platform != "win32":
    import resource

_NICE = 5
"""Translation has priority: when all cores are busy, a parser gets about a third of the time of a decoding thread."""
_OPEN_FILES = 32
OUT_OF_MEMORY = 12
"""Exit status of a parser process without memory to say so: ENOMEM."""


def out_of_memory_message(memory_bytes: int) -> str:
    return f"the file takes more than {memory_bytes // 2**20} MB of memory; split it, or leave out what is no text"


@dataclass(frozen=True)
class FileLimits:
    """Limits of reading, and of writing, one file. `wall_seconds`: until there is an answer, the start of a process
    included. `max_written_bytes`: the size of the translated file."""

    cpu_seconds: float = 10.0
    wall_seconds: float = 30.0
    memory_bytes: int = 256 * 2**20
    max_written_bytes: int = 16 * 2**20


def limit_process(memory_bytes: int) -> None:
    """Limit this process to `memory_bytes` more than it has, no written files and no processes, and end it with its
    parent."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            end_with_parent(os.getppid())
        with contextlib.suppress(OSError):  # a container without memory ends this process and not the server
            Path("/proc/self/oom_score_adj").write_text("1000")
    if sys.platform != "win32":
        for limit, value in (
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_FSIZE, 0),
            (resource.RLIMIT_NOFILE, _OPEN_FILES),
            (resource.RLIMIT_NPROC, 0),
            (resource.RLIMIT_AS, address_space_bytes() + memory_bytes),
        ):
            with contextlib.suppress(
                ValueError, OSError
            ):  # a lower limit is set already, or the system has no such limit
                resource.setrlimit(limit, (value, value))
        with contextlib.suppress(OSError):
            os.nice(_NICE)


def limit_cpu(seconds: float) -> None:
    """Give this process `seconds` more of processor time, rounded up; then SIGXCPU ends it."""
    if sys.platform != "win32":
        used = resource.getrusage(resource.RUSAGE_SELF)
        soft = math.ceil(used.ru_utime + used.ru_stime + seconds)
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))

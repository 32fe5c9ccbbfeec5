"""Pools of parser processes for tests."""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Any

import pytest

from server.files.in_process import InProcessParser
from server.files.limits import FileLimits
from server.files.parser_pool import ParserPool
from server.files.parsing import Failure, SourceFile
from tests.server.files.processes import BUSY_TICKS, cpu_ticks
from tests.server.files.processes import parsers_of as all_parsers
from tests.server.files.some import BUSY

PATIENCE = 60.0
AMPLE = FileLimits(cpu_seconds=100, wall_seconds=300, memory_bytes=4 * 2**30)
SMALL = SourceFile(b"<p>We <b>walk</b> home.</p>", "a.html", "de")
BUSY_FILE = SourceFile(BUSY, "busy.md", "de", max_characters=100_000_000)

needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")

of_others: set[int] = set()
"""Parser processes of servers that other tests share."""


def parsers() -> list[int]:
    """The ids of the parser processes of the pool."""
    return [pid for pid in all_parsers() if pid not in of_others]


@contextlib.asynccontextmanager
async def pool_of(
    limits: FileLimits = AMPLE, size: int = 1, max_waiting: int = 64, failures: Sequence[Failure] = ()
) -> AsyncIterator[ParserPool]:
    """A pool that has counted these failures in the end."""
    of_others.clear()
    of_others.update(all_parsers())
    counted: list[Failure] = []
    pool = ParserPool(limits, size, max_waiting, counted.append)
    try:
        yield pool
    finally:
        await pool.stop()
        assert parsers() == [], "processes are left behind"
    assert counted == list(failures)


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 2 * PATIENCE))


async def until(condition: Callable[[], bool], what: str) -> None:
    give_up = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < give_up, f"waited in vain until {what}"
        await asyncio.sleep(0.02)  # listing all processes takes a millisecond


async def busy_with(pool: ParserPool, file: SourceFile) -> "tuple[asyncio.Task[list[str]], int]":
    """A task that reads the file, and the process that is at it."""
    [before] = parsers() or [0]
    ticks = cpu_ticks(before)
    reading = asyncio.create_task(pool.texts(file))
    await until(lambda: any(cpu_ticks(pid) >= ticks + BUSY_TICKS for pid in parsers()), "the file is being read")
    assert not reading.done()
    [pid] = parsers()
    return reading, pid


def num_waiting(pool: ParserPool) -> int:
    """Files that wait for a process."""
    return len(pool._waiting)


async def assert_works(pool: ParserPool) -> None:
    assert await pool.texts(SMALL) == await InProcessParser().texts(SMALL)

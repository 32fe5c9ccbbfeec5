"""Turns of files, and files for which no request waits."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Coroutine

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.api.requests.errors import ApiError
from server.api.serving.file_jobs import MAX_RUNNING, SLACK, SURE_SECONDS, FileJobs, Turns, within
from server.api.serving.file_progress import FileProgress
from server.api.serving.finished_files import FileReservation, FinishedFile, FinishedFiles
from server.files.formats.base import DamagedFile
from tests.server.api.conftest import PATIENCE

DONE = FinishedFile(b"Ja.", "a.de.txt", "text/plain", 4)


async def settled() -> None:
    """Let everything go on that can."""
    for _ in range(20):
        await asyncio.sleep(0)


@settings(deadline=None)
@given(
    events=st.lists(
        st.one_of(st.sampled_from(["a", "b", "c"]), st.tuples(st.sampled_from(["end", "cancel"]), st.integers(0, 9))),
        max_size=40,
    ),
    limit=st.integers(1, 6),
)
def test_turns_are_taken_within_the_limit_and_none_is_lost(events: list[str | tuple[str, int]], limit: int) -> None:
    """Files arrive, end and are cancelled in any order. No file waits that may start, and at the end nothing is
    held."""

    async def run() -> None:
        turns, running, tasks = Turns(limit), dict[asyncio.Task[None], str](), list[asyncio.Task[None]]()
        ends: dict[asyncio.Task[None], asyncio.Event] = {}
        owners: dict[asyncio.Task[None], str] = {}

        async def file(owner: str, end: asyncio.Event) -> None:
            task = asyncio.current_task()
            assert task is not None
            async with turns.turn(owner):
                running[task] = owner
                try:
                    await end.wait()
                finally:
                    del running[task]

        for event in events:
            if isinstance(event, str):
                end = asyncio.Event()
                tasks.append(asyncio.create_task(file(event, end)))
                ends[tasks[-1]], owners[tasks[-1]] = end, event
            elif tasks:
                task = tasks[event[1] % len(tasks)]
                if event[0] == "end":
                    ends[task].set()
                else:
                    task.cancel()
            if not (isinstance(event, tuple) and event[0] == "cancel" and event[1] % 2):  # cancelled in the same moment
                await settled()
                held = Counter(running.values())
                assert turns.num_running == len(running) <= 2 * limit
                assert all(count <= limit for count in held.values())
                waiting = {owners[item] for item in tasks if not item.done() and item not in running}
                free = 2 * limit - len(running)
                assert not any(free >= 1 and held[item] + 1 <= max(1, free - 1) for item in waiting)
        for end in ends.values():
            end.set()
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*tasks, return_exceptions=True)
        assert turns.num_running == 0
        assert not turns._waiting

    asyncio.run(run())


def test_owners_take_turns_however_many_files_one_has() -> None:
    async def run() -> list[str]:
        turns, order = Turns(1), list[str]()

        async def file(owner: str) -> None:
            async with turns.turn(owner):
                order.append(owner)
                await asyncio.sleep(0)

        await asyncio.gather(*(file(owner) for owner in "a" * 100 + "bb" + "c"))
        return order

    order = asyncio.run(run())
    assert sorted(order[:7]) == list("aaaabbc")
    assert Counter(order) == {"a": 100, "b": 2, "c": 1}


def kept(
    work: Callable[[], Coroutine[None, None, FinishedFile]], seconds: float = PATIENCE
) -> tuple[FileReservation, int]:
    """What became of a file, and how often what it held was given back."""

    async def run() -> tuple[FileReservation, int]:
        files, left, over = FinishedFiles(9, 100, PATIENCE), list[int](), asyncio.Event()

        def leave() -> None:
            left.append(1)
            over.set()

        jobs = FileJobs(files, seconds)
        with files.admit("a", 5) as room:
            jobs.start(room, work, leave)
        assert files.num_files == 1
        async with asyncio.timeout(PATIENCE):
            await over.wait()
        assert jobs.num_running == 0
        assert not jobs.has_begun(room)
        return room, len(left)

    return asyncio.run(run())


def test_a_translated_file_is_kept() -> None:
    async def work() -> FinishedFile:
        return DONE

    room, left = kept(work)
    assert (room.outcome, left) == (DONE, 1)


def test_a_file_that_takes_too_long_is_given_up() -> None:
    cancelled = []

    async def work() -> FinishedFile:
        try:
            await asyncio.sleep(PATIENCE)
        finally:
            cancelled.append(1)
        return DONE

    room, left = kept(work, 0.01)
    assert isinstance(room.outcome, ApiError)
    assert room.outcome.message == "the file was not translated within the server's file_timeout (0.01 s)"
    assert (cancelled, left) == ([1], 1)


@pytest.mark.parametrize(
    ("error", "message", "count"),
    [
        (RuntimeError("a secret"), "The server failed; its log has more.", 1),
        (DamagedFile("broken off"), "broken off", 0),
    ],
)
def test_a_fault_is_logged_once(error: Exception, message: str, count: int, caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> FinishedFile:
        raise error

    with caplog.at_level(logging.ERROR, "ringmt"):
        room, left = kept(work)
    assert isinstance(room.outcome, ApiError)
    assert (room.outcome.message, left) == (message, 1)
    assert [record.getMessage() for record in caplog.records] == ["a file was not translated"] * count


def test_what_is_stopped_gives_everything_back() -> None:
    """Files that run, files that wait, and one that has only been started."""

    async def run() -> None:
        files, left = FinishedFiles(99, 1000, PATIENCE), list[int]()
        jobs = FileJobs(files, PATIENCE)

        async def work() -> FinishedFile:
            await asyncio.sleep(PATIENCE)
            return DONE

        for _ in range(MAX_RUNNING + 3):
            jobs.start(files.admit("", 5), work, lambda: left.append(1))
        await settled()
        assert jobs.num_running == MAX_RUNNING
        jobs.start(files.admit("", 5), work, lambda: left.append(1))
        await jobs.stop()
        await settled()
        assert (files.num_files, files.num_bytes, jobs.num_running) == (0, 0, 0)
        assert len(left) == MAX_RUNNING + 4

    asyncio.run(run())


@pytest.mark.parametrize(
    ("passed", "available", "is_refused"),
    [
        (10.0, 20.0 / SLACK + 2, False),
        (10.0, 20.0 / SLACK - 2, True),
        (10.0, -5.0, True),
        (SURE_SECONDS - 0.5, 0.1, False),
        (SURE_SECONDS + 0.5, 0.1, True),
    ],
)
def test_a_file_is_refused_when_it_is_certain_to_take_too_long(
    passed: float, available: float, is_refused: bool
) -> None:
    """A third of the sentences took the seconds that passed, so the others take twice as many; speeds vary."""
    now = time.monotonic()
    progress = FileProgress(_began=now - passed)
    on_progress = within(now + available, progress, "cut it", "text")
    on_progress(0, 30)
    if not is_refused:
        on_progress(10, 30)
        return
    with pytest.raises(ApiError, match=rf"the text takes about {round(3 * passed)} seconds.*cut it") as caught:
        on_progress(10, 30)
    assert (caught.value.kind, caught.value.param) == ("too_large", "text")


def test_one_file_does_not_wait_behind_many_of_another_owner() -> None:
    async def run() -> list[str]:
        turns, order = Turns(2), list[str]()
        ends = asyncio.Event()

        async def file(owner: str) -> None:
            async with turns.turn(owner):
                order.append(owner)
                await ends.wait()

        tasks = [asyncio.create_task(file(owner)) for owner in ("a", "a", "a", "b")]
        await settled()
        ends.set()
        await asyncio.gather(*tasks)
        return order

    order = asyncio.run(run())
    assert order.index("b") < 3
    assert Counter(order) == Counter("aaab")

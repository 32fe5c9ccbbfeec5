"""Jobs in threads: in slices, in turns between tenants, cancelled with their caller. The clock is advanced by jobs."""

import asyncio
import contextlib
import contextvars
import gc
import itertools
import threading
import weakref
from collections.abc import Callable

import pytest

from server.runtime.checkpoints import checkpoint
from server.runtime.offload import (
    INLINE_CHARS,
    PAUSE_AFTER,
    PAUSE_SECONDS,
    SliceScheduler,
    offload,
    offload_above,
    run_in,
)
from server.scheduling import caller
from server.scheduling.caller import Caller
from tests.server.api.conftest import until

colour = contextvars.ContextVar("colour", default="none")


class Clock:
    """Seconds that only jobs advance."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def working(clock: Clock, name: str, rounds: int, log: list[str]) -> Callable[[], str]:
    """A job of so many rounds, a slice each."""

    def work() -> str:
        for _ in range(rounds):
            clock.now += 1
            log.append(name)
            checkpoint()
        return name

    return work


async def start(scheduler: SliceScheduler, tenant: str, work: Callable[[], str]) -> "asyncio.Task[str]":
    token = caller.current.set(Caller(tenant))
    task = asyncio.create_task(run_in(scheduler, work))
    caller.current.reset(token)
    await asyncio.sleep(0)  # it is queued now
    return task


def blocking_job(scheduler: SliceScheduler) -> tuple[Callable[[], str], threading.Event]:
    """A job that occupies the only slot until the event is set, so that others are queued in a known order."""
    gate = threading.Event()

    def hold() -> str:
        gate.wait(60)
        return "held"

    return hold, gate


async def slice_order(*jobs: tuple[str, str, int]) -> list[str]:
    """The names of jobs (tenant, name, rounds), once for every slice, in the order of the slices."""
    clock, log = Clock(), list[str]()
    scheduler = SliceScheduler(1, 1.0, clock)
    hold, gate = blocking_job(scheduler)
    holding = await start(scheduler, "nobody", hold)
    tasks = [await start(scheduler, tenant, working(clock, name, rounds, log)) for tenant, name, rounds in jobs]
    assert len(scheduler) == len(jobs)
    gate.set()
    assert await asyncio.gather(holding, *tasks) == ["held", *(name for _, name, _ in jobs)]
    assert len(scheduler) == 0
    return log


def test_long_jobs_take_turns() -> None:
    log = asyncio.run(slice_order(("a", "a", 3), ("b", "b", 3)))
    assert log == ["a", "b"] * 3


def test_a_tenant_with_many_jobs_gets_the_turns_of_one() -> None:
    many = [("greedy", f"g{number}", 4) for number in range(10)]
    log = asyncio.run(slice_order(*many, ("modest", "m", 3)))
    last = max(position for position, name in enumerate(log) if name == "m")
    assert last <= 6  # every second slice is the modest tenant's
    assert log.count("m") == 3
    assert len(log) == 43


def test_a_single_job_is_not_interrupted() -> None:
    assert asyncio.run(slice_order(("a", "a", 5))) == ["a"] * 5


def test_a_cancelled_job_ends_at_its_next_checkpoint() -> None:
    rounds, begun, ended = 0, threading.Event(), threading.Event()

    def endless() -> None:
        nonlocal rounds
        begun.set()
        try:
            while True:
                checkpoint()
                rounds += 1
        finally:
            ended.set()

    async def main() -> None:
        task = asyncio.create_task(offload(endless))
        await asyncio.to_thread(begun.wait, 60)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    before = threading.active_count()
    asyncio.run(main())
    assert ended.wait(60)
    until(lambda: threading.active_count() <= before, "its thread is ended")


def test_a_cancelled_waiting_job_never_begins() -> None:
    log: list[str] = []

    async def main() -> None:
        clock = Clock()
        scheduler = SliceScheduler(1, 1.0, clock)
        hold, gate = blocking_job(scheduler)
        holding = await start(scheduler, "a", hold)
        waiting = await start(scheduler, "b", working(clock, "b", 1, log))
        waiting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await waiting
        gate.set()
        await holding
        assert await run_in(scheduler, working(clock, "c", 1, log)) == "c"  # the slot is free again

    asyncio.run(main())
    assert log == ["c"]


def test_results_errors_and_context_are_passed() -> None:
    def failing() -> None:
        raise KeyError("a")

    async def main() -> None:
        colour.set("blue")
        assert await offload(lambda: (colour.get(), threading.current_thread() is threading.main_thread())) == (
            "blue",
            False,
        )
        with pytest.raises(KeyError):
            await offload(failing)
        inline = await offload_above(INLINE_CHARS, threading.current_thread)
        in_thread = await offload_above(INLINE_CHARS + 1, threading.current_thread)
        assert inline is threading.main_thread()
        assert in_thread is not inline

    asyncio.run(main())


def test_many_concurrent_jobs_all_end() -> None:
    """With real time and slices of length 0: every checkpoint ends a slice."""

    async def main() -> None:
        scheduler = SliceScheduler(2, 0.0)

        def count(number: int) -> int:
            for _ in range(50):
                checkpoint()
            return number

        tasks = [asyncio.create_task(run_in(scheduler, lambda n=number: count(n))) for number in range(60)]  # type: ignore[misc]
        assert await asyncio.gather(*tasks) == list(range(60))
        assert len(scheduler) == 0

    asyncio.run(main())


def test_outside_of_a_thread_a_checkpoint_does_nothing() -> None:
    checkpoint()


class Large:
    """A large argument."""


def test_arguments_are_freed_when_the_job_is_done() -> None:
    """At once, not by the garbage collector: a document's batches would fill the memory meanwhile."""

    async def main() -> "weakref.ref[Large]":
        large = Large()
        assert await offload(id, large) == id(large)
        return weakref.ref(large)

    gc.disable()
    try:
        assert asyncio.run(main())() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("ends", ["fails", "cancelled"])
def test_what_an_unfinished_job_held_is_freed_without_a_garbage_collection(ends: str) -> None:
    refs: list[weakref.ref[Large]] = []
    begun, cancelled = threading.Event(), threading.Event()

    def work() -> None:
        large = Large()
        refs.append(weakref.ref(large))
        begun.set()
        if ends == "fails":
            raise ValueError(str(large))
        cancelled.wait(60)
        checkpoint()

    async def begin() -> None:
        task = asyncio.create_task(offload(work))
        await asyncio.to_thread(begun.wait, 60)
        if ends == "cancelled":
            task.cancel()
        with contextlib.suppress(ValueError, asyncio.CancelledError):
            await task
        del task  # the traceback has this frame
        cancelled.set()

    async def main() -> None:
        await begin()
        await asyncio.to_thread(until, lambda: refs[0]() is None, "it is free")

    gc.disable()
    try:
        asyncio.run(main())
    finally:
        gc.enable()


def test_a_job_pauses_after_a_time_however_often_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a thread that waits for the interpreter gets it, whatever the job calls."""
    clock, pauses = Clock(), list[float]()

    def sleep(seconds: float) -> None:
        pauses.append(clock.now)
        clock.now += seconds

    def work() -> None:
        for _ in range(1000):
            clock.now += PAUSE_AFTER / 10
            checkpoint()

    monkeypatch.setattr("server.runtime.offload.time.sleep", sleep)
    asyncio.run(run_in(SliceScheduler(1, 1.0, clock), work))
    assert len(pauses) == pytest.approx(100, abs=10)
    gaps = [later - earlier - PAUSE_SECONDS for earlier, later in itertools.pairwise(pauses)]
    assert min(gaps) >= PAUSE_AFTER * 0.99
    assert max(gaps) <= PAUSE_AFTER * 1.2


def test_work_that_is_short_does_not_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, pauses = Clock(), list[float]()

    def work() -> None:
        for _ in range(9):
            clock.now += PAUSE_AFTER / 10
            checkpoint()

    monkeypatch.setattr("server.runtime.offload.time.sleep", pauses.append)
    asyncio.run(run_in(SliceScheduler(1, 1.0, clock), work))
    assert pauses == []

"""Work in threads: in slices, in turns between tenants, ended with its caller. Time is a number that works raise."""

import asyncio
import contextlib
import contextvars
import gc
import threading
import weakref
from collections.abc import Callable

import pytest

from server.runtime.checkpoints import checkpoint
from server.runtime.offload import INLINE_CHARS, SliceScheduler, offload, offload_above, run_in
from server.scheduling import caller
from server.scheduling.caller import Caller
from tests.server.api.conftest import until

colour = contextvars.ContextVar("colour", default="none")


class Clock:
    """Seconds that pass only when somebody works."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def working(clock: Clock, name: str, rounds: int, log: list[str]) -> Callable[[], str]:
    """Work of so many rounds, a slice each."""

    def work() -> str:
        for _ in range(rounds):
            clock.now += 1
            log.append(name)
            checkpoint()
        return name

    return work


async def started(scheduler: SliceScheduler, tenant: str, work: Callable[[], str]) -> "asyncio.Task[str]":
    token = caller.current.set(Caller(tenant))
    task = asyncio.create_task(run_in(scheduler, work))
    caller.current.reset(token)
    await asyncio.sleep(0)  # it is in the line now
    return task


def in_line(scheduler: SliceScheduler) -> tuple[Callable[[], str], threading.Event]:
    """Work that holds the only place until it is told to end, so that others come into the line in a known order."""
    gate = threading.Event()

    def hold() -> str:
        gate.wait(60)
        return "held"

    return hold, gate


async def orders(*works: tuple[str, str, int]) -> list[str]:
    """The names of works (tenant, name, rounds), once for every slice, in the order in which they had them."""
    clock, log = Clock(), list[str]()
    scheduler = SliceScheduler(1, 1.0, clock)
    hold, gate = in_line(scheduler)
    holding = await started(scheduler, "nobody", hold)
    tasks = [await started(scheduler, tenant, working(clock, name, rounds, log)) for tenant, name, rounds in works]
    assert len(scheduler) == len(works)
    gate.set()
    assert await asyncio.gather(holding, *tasks) == ["held", *(name for _, name, _ in works)]
    assert len(scheduler) == 0
    return log


def test_long_works_take_turns() -> None:
    log = asyncio.run(orders(("a", "a", 3), ("b", "b", 3)))
    assert log == ["a", "b"] * 3


def test_a_tenant_with_many_works_is_one_tenant() -> None:
    many = [("greedy", f"g{number}", 4) for number in range(10)]
    log = asyncio.run(orders(*many, ("modest", "m", 3)))
    last = max(place for place, name in enumerate(log) if name == "m")
    assert last <= 6  # every second slice is the modest tenant's
    assert log.count("m") == 3
    assert len(log) == 43


def test_work_alone_is_not_interrupted() -> None:
    assert asyncio.run(orders(("a", "a", 5))) == ["a"] * 5


def test_work_whose_caller_is_gone_ends_at_its_next_checkpoint() -> None:
    rounds, begun, gone = 0, threading.Event(), threading.Event()

    def endless() -> None:
        nonlocal rounds
        begun.set()
        try:
            while True:
                checkpoint()
                rounds += 1
        finally:
            gone.set()

    async def main() -> None:
        task = asyncio.create_task(offload(endless))
        await asyncio.to_thread(begun.wait, 60)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    before = threading.active_count()
    asyncio.run(main())
    assert gone.wait(60)
    until(lambda: threading.active_count() <= before, "its thread is gone")


def test_work_in_line_whose_caller_is_gone_never_begins() -> None:
    log: list[str] = []

    async def main() -> None:
        clock = Clock()
        scheduler = SliceScheduler(1, 1.0, clock)
        hold, gate = in_line(scheduler)
        holding = await started(scheduler, "a", hold)
        waiting = await started(scheduler, "b", working(clock, "b", 1, log))
        waiting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await waiting
        gate.set()
        await holding
        assert await run_in(scheduler, working(clock, "c", 1, log)) == "c"  # the place is free again

    asyncio.run(main())
    assert log == ["c"]


def test_results_errors_and_context_come_through() -> None:
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
        here = await offload_above(INLINE_CHARS, threading.current_thread)
        there = await offload_above(INLINE_CHARS + 1, threading.current_thread)
        assert here is threading.main_thread()
        assert there is not here

    asyncio.run(main())


def test_many_works_at_once_all_end() -> None:
    """With real time and slices of no length: every checkpoint gives the place away."""

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
    """An argument whose memory matters."""


def test_what_work_was_given_is_freed_when_it_is_done() -> None:
    """At once, not when the garbage collector comes: a document's batches would fill the memory meanwhile."""

    async def main() -> "weakref.ref[Large]":
        large = Large()
        assert await offload(id, large) == id(large)
        return weakref.ref(large)

    gc.disable()
    try:
        assert asyncio.run(main())() is None
    finally:
        gc.enable()

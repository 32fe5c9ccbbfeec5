"""Long work in threads waits for short requests, and not for ever."""

import asyncio
import contextlib
import contextvars
import threading

import pytest

from server.runtime import offload as offload_module
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import SliceScheduler, run_in
from server.runtime.short_requests import ShortRequests
from tests.server.api.conftest import PATIENCE


def test_it_waits_until_the_last_one_has_ended() -> None:
    short = ShortRequests()
    waited = threading.Event()

    def wait() -> None:
        short.wait_for_none(PATIENCE)
        waited.set()

    first, second = contextlib.ExitStack(), contextlib.ExitStack()
    of_first, of_second = contextvars.copy_context(), contextvars.copy_context()
    of_first.run(first.enter_context, short.one_more())
    of_second.run(second.enter_context, short.one_more())
    thread = threading.Thread(target=wait)
    thread.start()
    of_first.run(first.close)
    assert not waited.wait(0.05)
    of_second.run(second.close)
    assert waited.wait(PATIENCE)
    thread.join()
    short.wait_for_none(PATIENCE)


def test_a_short_request_that_fails_has_ended() -> None:
    short = ShortRequests()
    with contextlib.suppress(ValueError), short.one_more():
        raise ValueError
    waited = threading.Thread(target=short.wait_for_none, args=(PATIENCE,))
    waited.start()
    waited.join(PATIENCE / 2)
    assert not waited.is_alive()


def test_a_job_waits_for_short_requests_at_its_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    short, rounds = ShortRequests(), list[int]()
    begun, goes_on = threading.Event(), threading.Event()
    monkeypatch.setattr(offload_module, "short_requests", short)
    monkeypatch.setattr(offload_module, "LONGEST_WAIT", PATIENCE)
    monkeypatch.setattr(offload_module, "PAUSE_AFTER", 0.0)

    def work() -> None:
        begun.set()
        goes_on.wait(PATIENCE)
        for number in range(5):
            rounds.append(number)
            checkpoint()

    async def test() -> None:
        job = asyncio.create_task(run_in(SliceScheduler(1), work))
        assert await asyncio.to_thread(begun.wait, PATIENCE)
        with short.one_more():
            goes_on.set()
            await asyncio.wait([job], timeout=0.05)
            assert rounds == [0]
        await job

    asyncio.run(test())
    assert rounds == [0, 1, 2, 3, 4]


def test_a_job_of_a_short_request_does_not_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    short = ShortRequests()
    monkeypatch.setattr(offload_module, "short_requests", short)
    monkeypatch.setattr(offload_module, "LONGEST_WAIT", PATIENCE)
    monkeypatch.setattr(offload_module, "PAUSE_AFTER", 0.0)

    async def test() -> None:
        with short.one_more():
            await asyncio.wait_for(run_in(SliceScheduler(1), checkpoint), PATIENCE / 2)

    asyncio.run(test())


def test_a_job_that_waits_in_vain_waits_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it would hardly go on where there are always short requests."""
    waits = list[float]()
    answers = iter([False] * 5 + [True, False])

    class Busy(ShortRequests):
        def wait_for_none(self, seconds: float) -> bool:
            waits.append(seconds)
            return next(answers)

    monkeypatch.setattr(offload_module, "short_requests", Busy())
    monkeypatch.setattr(offload_module, "PAUSE_AFTER", 0.0)

    def work() -> None:
        for _ in range(7):
            checkpoint()

    async def test() -> None:
        await run_in(SliceScheduler(1), work)

    asyncio.run(test())
    longest, shortest = offload_module.LONGEST_WAIT, offload_module.SHORTEST_WAIT
    assert waits == [longest, longest / 2, longest / 4, shortest, shortest, shortest, longest]

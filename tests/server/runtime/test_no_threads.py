"""Jobs where the system has no thread for them."""

import asyncio
import threading

import pytest

from server.runtime.offload import SliceScheduler, run_in
from tests.server.runtime.test_offload import blocking_job, start


def test_a_system_without_threads_fails_jobs_and_blocks_no_later_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that began at once, and those that waited for others."""
    begin, has_threads = threading.Thread.start, threading.Event()

    def start_if_there_are_threads(thread: threading.Thread) -> None:
        if thread.name.startswith("work-") and not has_threads.is_set():
            raise RuntimeError("can't start new thread")
        begin(thread)

    async def main() -> None:
        scheduler = SliceScheduler(2)
        for _ in range(3):
            with pytest.raises(RuntimeError, match="can't start new thread"):
                await run_in(scheduler, str)
        has_threads.set()
        held = [blocking_job(scheduler) for _ in range(2)]
        holding = [await start(scheduler, "a", hold) for hold, _ in held]
        waiting = [await start(scheduler, "b", str) for _ in range(2000)]
        assert len(scheduler) == 2000
        has_threads.clear()
        for _, gate in held:
            gate.set()
        assert await asyncio.gather(*holding) == ["held"] * 2
        errors = await asyncio.gather(*waiting, return_exceptions=True)
        assert {type(error) for error in errors} == {RuntimeError}
        has_threads.set()
        assert await asyncio.gather(*(run_in(scheduler, lambda: "well") for _ in range(4))) == ["well"] * 4
        assert len(scheduler) == 0

    monkeypatch.setattr(threading.Thread, "start", start_if_there_are_threads)
    asyncio.run(asyncio.wait_for(main(), 60))

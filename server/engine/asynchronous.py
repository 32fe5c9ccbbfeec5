"""Queues the sentences of a request from an event loop, which serves other requests meanwhile, and waits for them."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future

from server.engine.request import DeadlineExceeded, SentenceRequest, SentenceResult
from server.engine.worker import EngineWorker

PORTION = 64
"""Sentences that are queued at once: about two milliseconds of work."""


async def queue_all(worker: EngineWorker, requests: Sequence[SentenceRequest]) -> None:
    """Queue all sentences or none. Raises Overloaded or EngineStopped; then those that were queued are cancelled, as
    they are with the awaiting task."""
    if len(requests) <= PORTION:
        worker.answer_all(requests)
        return
    reservation = worker.queue.reserve(requests)
    try:
        for start in range(0, len(requests), PORTION):
            if start:
                await asyncio.sleep(0)
            worker.answer_all(requests[start : start + PORTION], reservation)
    except BaseException:
        for request in requests:
            request.cancel()
        raise
    finally:
        worker.queue.release(reservation)  # of sentences that came from the cache, or were not queued


async def wait_for_all(requests: Sequence[SentenceRequest], deadline: float | None) -> list[SentenceResult]:
    """The results of queued sentences. `deadline` is a time.monotonic() value.

    When the awaiting task is cancelled, or one sentence fails, every sentence is cancelled and leaves its slot at the
    engine's next step. Raises DeadlineExceeded, and the engine's error for the first sentence that failed.
    """
    try:
        async with asyncio.timeout(None if deadline is None else deadline - time.monotonic()):
            await _all_done(requests)
    except TimeoutError:
        raise DeadlineExceeded("the engine did not answer by the deadline") from None
    finally:
        for request in requests:
            request.cancel()
    return [request.future.result() for request in requests]


async def _all_done(requests: Sequence[SentenceRequest]) -> None:
    """Return when every future has its result; raise the first exception among them.

    The engine's thread wakes the event loop once for all sentences, not once for each. The futures are never cancelled
    here, because only the engine resolves them.
    """
    if not requests:
        return
    loop = asyncio.get_running_loop()
    all_done = loop.create_future()
    lock = threading.Lock()
    pending = len(requests)

    def wake(error: BaseException | None) -> None:
        if not all_done.done():
            all_done.set_result(None) if error is None else all_done.set_exception(error)

    def on_done(future: "Future[SentenceResult]") -> None:
        nonlocal pending
        with lock:
            pending -= 1
            is_last = pending == 0
        error = future.exception()
        if is_last or error is not None:
            with contextlib.suppress(RuntimeError):  # the event loop is closed
                loop.call_soon_threadsafe(wake, error)

    for request in requests:
        request.future.add_done_callback(on_done)
    await all_done

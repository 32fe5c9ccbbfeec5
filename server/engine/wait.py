"""Lets an event loop wait for sentences that the engine resolves in its threads."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future

from server.engine.request import DeadlineExceeded, SentenceRequest, SentenceResult


async def wait_for_all(requests: Sequence[SentenceRequest], deadline: float | None) -> list[SentenceResult]:
    """The results of sentences that were queued. `deadline` is a time.monotonic() value.

    When the awaiting task is cancelled, or one sentence fails, every sentence is cancelled and leaves its slot at the
    engine's next step. Raises DeadlineExceeded, and what the engine raised for the first that failed.
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
    over = loop.create_future()
    lock = threading.Lock()
    missing = len(requests)

    def wake(error: BaseException | None) -> None:
        if not over.done():
            over.set_result(None) if error is None else over.set_exception(error)

    def one_done(future: "Future[SentenceResult]") -> None:
        nonlocal missing
        with lock:
            missing -= 1
            is_last = missing == 0
        error = future.exception()
        if is_last or error is not None:
            with contextlib.suppress(RuntimeError):  # The event loop was closed: nobody waits any more.
                loop.call_soon_threadsafe(wake, error)

    for request in requests:
        request.future.add_done_callback(one_done)
    await over

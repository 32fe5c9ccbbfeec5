"""Queues the sentences of a request from an event loop, which answers others meanwhile."""

import asyncio
from collections.abc import Sequence

from server.engine.request import SentenceRequest
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

"""Waits for work for a limited time."""

import asyncio
from collections.abc import Awaitable


async def at_most(seconds: float, work: Awaitable[object]) -> bool:
    """Wait for `work` and cancel it after `seconds`; returns whether it was done. The cancellation itself is not
    awaited."""
    task = asyncio.ensure_future(work)
    await asyncio.wait({task}, timeout=max(0.0, seconds))
    if task.done():
        task.result()
        return True
    task.cancel()
    return False

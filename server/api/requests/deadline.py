"""Cancels work at a request's deadline."""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

from server.engine.request import DeadlineExceeded

Result = TypeVar("Result")


async def run_until(deadline: float | None, work: Coroutine[Any, Any, Result]) -> Result:
    """The result of `work`, which is cancelled at `deadline` (a time.monotonic() value). Raises DeadlineExceeded."""
    try:
        async with asyncio.timeout(None if deadline is None else deadline - time.monotonic()):
            return await work
    except TimeoutError:
        raise DeadlineExceeded("the work was not done by the deadline") from None

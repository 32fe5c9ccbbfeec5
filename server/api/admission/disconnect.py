"""Cancels a request's work when its client disconnects."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from starlette.requests import Request

from server.api.admission.middleware import ClientGone

ITERATIONS = 4
"""Iterations of the event loop before the work begins: a client that resets its connection right after its request is
found to be gone by then."""

Result = TypeVar("Result")


async def cancel_on_disconnect(request: Request, work: Callable[[], Awaitable[Result]]) -> Result:
    """The result of `work()`, cancelled when the client disconnects (ClientGone); then `request.state.is_gone` is True.
    The body must have been read. If the client has gone already, the work does not begin."""
    request_task = asyncio.current_task()
    assert request_task is not None
    is_gone = False

    async def watch() -> None:
        nonlocal is_gone
        while (await request.receive())["type"] != "http.disconnect":
            pass
        is_gone = request.state.is_gone = True
        request_task.cancel()

    # The work runs in the request's task, which saves a task for every request.
    watcher = asyncio.ensure_future(watch())
    try:
        for _ in range(ITERATIONS):
            await asyncio.sleep(0)
        return await work()
    except asyncio.CancelledError:
        if is_gone and request_task.uncancel() == 0:
            raise ClientGone from None
        raise
    finally:
        watcher.cancel()

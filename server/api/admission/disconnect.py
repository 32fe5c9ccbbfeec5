"""Cancels a request's work when its client disconnects."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import Request

from server.api.admission.middleware import ClientGone

Result = TypeVar("Result")


async def cancel_on_disconnect(request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """The result of `work`, cancelled when the client disconnects (ClientGone); then `request.state.is_gone` is
    True. The body must have been read."""
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
        return await work
    except asyncio.CancelledError:
        if is_gone and request_task.uncancel() == 0:
            raise ClientGone from None
        raise
    finally:
        watcher.cancel()

"""Runs a function in a new thread, for calls that must start at once and may never return."""

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


async def in_dedicated_thread(
    function: Callable[Parameters, Result], /, *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Result:
    """As asyncio.to_thread, in a new daemon thread: it does not wait for a free thread of an executor, and the process
    does not wait for it at exit."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Result] = loop.create_future()
    context = contextvars.copy_context()

    def resolve(set_outcome: Callable[[], None]) -> None:
        if not answer.done():
            set_outcome()

    def run() -> None:
        try:
            result = context.run(function, *args, **kwargs)
        except Exception as error:
            set_outcome: Callable[[], None] = partial(answer.set_exception, error)
        else:
            set_outcome = partial(answer.set_result, result)
        with contextlib.suppress(RuntimeError):  # the event loop is closed
            loop.call_soon_threadsafe(resolve, set_outcome)

    threading.Thread(target=run, name=f"own-{getattr(function, '__name__', 'work')}", daemon=True).start()
    return await answer

"""Work in a thread of its own, for what must start whatever other threads do, and may never end."""

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


async def in_dedicated_thread(
    function: Callable[Parameters, Result], /, *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Result:
    """As asyncio.to_thread, in a new daemon thread: it waits for no room among others, and nobody waits for it when the
    process ends."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Result] = loop.create_future()
    context = contextvars.copy_context()

    def settle(settled: Callable[[], None]) -> None:
        if not answer.done():
            settled()

    def run() -> None:
        try:
            result = context.run(function, *args, **kwargs)
        except Exception as error:
            settled = _setter(answer.set_exception, error)
        else:
            settled = _setter(answer.set_result, result)
        with contextlib.suppress(RuntimeError):  # The event loop was closed: nobody waits any more.
            loop.call_soon_threadsafe(settle, settled)

    threading.Thread(target=run, name=f"own-{getattr(function, '__name__', 'work')}", daemon=True).start()
    return await answer


def _setter(function: Callable[[Result], None], value: Result) -> Callable[[], None]:
    return lambda: function(value)

"""Threads for calls of the store. Texts are cut and languages detected in other threads: a store that hangs delays
documents and no translation."""

import asyncio
import contextvars
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

MAX_CALLS: Final = 16
"""Calls of the store at the same time; further calls wait."""
_THREADS: Final = ThreadPoolExecutor(MAX_CALLS, "store")


async def in_store_thread(
    function: Callable[Parameters, Result], /, *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Result:
    """Run a call of the store in a thread, as asyncio.to_thread does."""
    call = functools.partial(contextvars.copy_context().run, function, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_THREADS, call)

"""Threads that wait for the store. They are not those that cut texts and tell languages: a store that hangs keeps
documents waiting, and no translation."""

import asyncio
import contextvars
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

MOST: Final = 16
"""Calls of the store at the same time; others wait for their turn."""
_THREADS: Final = ThreadPoolExecutor(MOST, "store")


async def in_store_thread(
    function: Callable[Parameters, Result], /, *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Result:
    """As asyncio.to_thread, for whatever asks the store."""
    call = functools.partial(contextvars.copy_context().run, function, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_THREADS, call)

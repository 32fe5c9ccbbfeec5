"""Runs work on texts that may take the processor for long in threads, so that the event loop stays free.

Only a few of them run at a time, each for a slice. At its first checkpoint after that (`server.runtime.checkpoints`) it
lets others go first, in the turns that sentences have in the engine: tenants, then their requests before their
documents and files, then each work. Work whose caller was cancelled ends at its next checkpoint.
"""

import asyncio
import contextvars
import functools
import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, ParamSpec, TypeVar

from server.runtime.checkpoints import on_checkpoint
from server.runtime.cpu_cores import usable_cores
from server.scheduling import caller
from server.scheduling.caller import WEIGHTS, Caller
from server.scheduling.fair_queue import FairQueue

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

SLICE_SECONDS: Final = 0.02
"""How long work runs before it lets others go first."""
INLINE_CHARS: Final = 2_000
"""Characters of texts that are worked on where they are: milliseconds, where a thread takes a tenth of one."""
AT_ONCE: Final = max(2, min(4, usable_cores()))
"""Works that run at the same time. The interpreter runs one thread at a time: more would only take turns more often."""


class Abandoned(BaseException):
    """Nobody waits for the work any more. No Exception, so that nothing in the work takes it for a failure."""


class SliceScheduler:
    """Lets a few works run at a time, in slices, in turns. Thread-safe."""

    def __init__(
        self, at_once: int, slice_seconds: float = SLICE_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._free, self.slice_seconds, self.clock = at_once, slice_seconds, clock
        self._waiting: FairQueue[Callable[[], None]] = FairQueue(quantum=1, weights=WEIGHTS)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Works that wait for a slice."""
        return len(self._waiting)

    def enter(self, begin: Callable[[], None], of: Caller, work: object) -> None:
        """Have `begin` called, from any thread and without delay inside of it, when it is the turn of a caller's
        `work`."""
        with self._lock:
            if not self._free:
                self._waiting.put(begin, 1, of.tenant, of.service, work)
                return
            self._free -= 1
        begin()

    def leave(self) -> None:
        """End a slice: the next work begins."""
        with self._lock:
            if not self._waiting:
                self._free += 1
                return
            begin = self._waiting.pop()
        begin()


class _Work:
    """One call in its thread."""

    def __init__(self, call: Callable[[], Any], of: Caller, scheduler: SliceScheduler) -> None:
        self.future: Future[Any] = Future()
        self._call: Callable[[], Any] | None = call
        """None once it ran: its context refers back here, and its arguments would wait for the garbage collector."""
        self._caller, self._scheduler = of, scheduler
        self._is_abandoned = False
        self._slice_ends = 0.0

    def start(self) -> None:
        """Run in a thread of its own when it is its turn. A daemon: it keeps no process from ending."""
        thread = threading.Thread(target=self._run, name=f"work-{next(_NUMBERS)}", daemon=True)
        self._scheduler.enter(thread.start, self._caller, self)

    def abandon(self) -> None:
        self._is_abandoned = True

    def _run(self) -> None:
        try:
            if self._is_abandoned or not self.future.set_running_or_notify_cancel():
                return
            self._begin_slice()
            assert self._call is not None
            try:
                result = self._call()
            except BaseException as error:
                self._call = None
                self.future.set_exception(error)
            else:
                self._call = None
                self.future.set_result(result)
        finally:
            self._call = None
            self._scheduler.leave()

    def checkpoint(self) -> None:
        if self._is_abandoned:
            raise Abandoned
        if self._scheduler.clock() < self._slice_ends:
            return
        if len(self._scheduler):  # otherwise nobody waits for the next slice
            granted = threading.Event()
            # Behind the others first, then the slice is given up: the other way round it might be granted to itself.
            self._scheduler.enter(granted.set, self._caller, self)
            self._scheduler.leave()
            granted.wait()
            if self._is_abandoned:
                raise Abandoned
        self._begin_slice()

    def _begin_slice(self) -> None:
        self._slice_ends = self._scheduler.clock() + self._scheduler.slice_seconds


_NUMBERS = itertools.count(1)
_SCHEDULER: Final = SliceScheduler(AT_ONCE)


async def offload(
    function: Callable[Parameters, Result], /, *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Result:
    """As asyncio.to_thread, in slices: `function` calls `checkpoint` between the pieces of its work."""
    return await run_in(_SCHEDULER, functools.partial(function, *args, **kwargs))


async def offload_above(
    num_chars: int, function: Callable[Parameters, Result], /, *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Result:
    """`offload` for work on more than INLINE_CHARS characters; other work is done at once."""
    if num_chars > INLINE_CHARS:
        return await offload(function, *args, **kwargs)
    return function(*args, **kwargs)


async def run_in(scheduler: SliceScheduler, call: Callable[[], Result]) -> Result:
    """`offload` with a scheduler of one's own."""
    context = contextvars.copy_context()
    work = _Work(functools.partial(context.run, call), caller.current.get(), scheduler)
    context.run(on_checkpoint.set, work.checkpoint)
    work.start()
    try:
        result: Result = await asyncio.wrap_future(work.future)
        return result
    finally:
        work.abandon()  # no effect on what is done

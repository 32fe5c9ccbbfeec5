"""Runs long CPU work on texts in threads, so that the event loop stays free.

Only a few jobs run at a time, each for a time slice. At its first checkpoint after the slice
(`server.runtime.checkpoints`) a job lets others go first, in the order in which the engine serves sentences: tenants
take turns, then their requests and background work, then jobs. A job whose caller was cancelled ends at its next
checkpoint.
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
from server.runtime.short_requests import is_short, short_requests
from server.scheduling import caller
from server.scheduling.caller import WEIGHTS, Caller
from server.scheduling.fair_queue import FairQueue

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

SLICE_SECONDS: Final = 0.02
"""Time slice of a job."""
PAUSE_AFTER: Final = 0.002
PAUSE_SECONDS: Final = 0.0002
"""A job pauses for so long after so many seconds. A thread that waits for the interpreter asks for it after the switch
interval, and begins to wait anew whenever the running thread releases it for a moment. Without pauses the event loop
waited for up to 0.18 s beside one large text, with them for less than 0.1 s, mostly 0.02 to 0.04."""
LONGEST_WAIT: Final = 0.015
SHORTEST_WAIT: Final = 0.002
"""A job of a longer request waits for short ones in progress at each pause: they need the interpreter at every step of
their translation. After a wait in vain, because others have arrived meanwhile, the next one is half as long."""
INLINE_CHARS: Final = 2_000
"""Characters of texts that are processed on the event loop: they take milliseconds, starting a thread 0.1 ms."""
MAX_RUNNING: Final = max(2, min(4, usable_cores()))
"""Jobs that run at the same time. The interpreter runs one thread at a time: more jobs would only switch more often."""


class Abandoned(BaseException):
    """The caller of the job was cancelled. No Exception, so that the job does not handle it as a failure."""


class SliceScheduler:
    """Runs a few jobs at a time, in slices, in the order of a FairQueue. Thread-safe."""

    def __init__(
        self, max_running: int, slice_seconds: float = SLICE_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._free, self.slice_seconds, self.clock = max_running, slice_seconds, clock
        self._waiting: FairQueue[Callable[[], bool]] = FairQueue(quantum=1, weights=WEIGHTS)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Jobs that wait for a slice."""
        return len(self._waiting)

    def request_slice(self, begin: Callable[[], bool], owner: Caller, job: object) -> None:
        """Call `begin` when the job's slice starts, from any thread; `begin` must not block, and returns whether the
        job begins."""
        with self._lock:
            if not self._free:
                self._waiting.put(begin, 1, owner.tenant, owner.service, job)
                return
            self._free -= 1
        if not begin():
            self.end_slice()

    def end_slice(self) -> None:
        """End a slice: the next job begins."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._free += 1
                    return
                begin = self._waiting.pop()
            if begin():
                return


class _Job:
    """One call in its thread."""

    def __init__(self, call: Callable[[], Any], owner: Caller, scheduler: SliceScheduler) -> None:
        self.future: Future[Any] = Future()
        self._call: Callable[[], Any] | None = call
        """None after it ran: its context refers back here, and its arguments would wait for the garbage collector."""
        self._owner, self._scheduler = owner, scheduler
        self._is_abandoned = False
        self._slice_ends = self._pause_at = 0.0
        self._waits, self._wait = not is_short.get(), LONGEST_WAIT  # a short request's own job does not wait for it

    def start(self) -> None:
        """Run in a new daemon thread when its slice starts. The future raises RuntimeError where the system has no
        thread for it."""
        self._scheduler.request_slice(self._begin, self._owner, self)

    def _begin(self) -> bool:
        try:
            threading.Thread(target=self._run, name=f"work-{next(_NUMBERS)}", daemon=True).start()
        except RuntimeError as error:
            self._call = None
            if self.future.set_running_or_notify_cancel():
                self.future.set_exception(error)
            return False
        return True

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
            except Abandoned:
                # No caller reads it. A new error has no frames, which would keep their variables.
                self.future.set_exception(Abandoned())
            except BaseException as error:
                self._call = None
                self.future.set_exception(error)
            else:
                self._call = None
                self.future.set_result(result)
        finally:
            self._call = None
            self._scheduler.end_slice()
            del self  # a traceback keeps this frame: a cycle, which only a full garbage collection would free

    def checkpoint(self) -> None:
        if self._is_abandoned:
            raise Abandoned
        now = self._scheduler.clock()
        if now >= self._pause_at:
            time.sleep(PAUSE_SECONDS)
            if self._waits:
                is_free = short_requests.wait_for_none(self._wait)
                self._wait = LONGEST_WAIT if is_free else max(SHORTEST_WAIT, self._wait / 2)
            self._pause_at = self._scheduler.clock() + PAUSE_AFTER
        if now < self._slice_ends:
            return
        if len(self._scheduler):  # otherwise no other job waits
            granted = threading.Event()

            def begin() -> bool:
                granted.set()
                return True

            # Queued behind the others before the slice ends: otherwise the job might get the next slice itself.
            self._scheduler.request_slice(begin, self._owner, self)
            self._scheduler.end_slice()
            granted.wait()
            if self._is_abandoned:
                raise Abandoned
        self._begin_slice()

    def _begin_slice(self) -> None:
        now = self._scheduler.clock()
        self._slice_ends, self._pause_at = now + self._scheduler.slice_seconds, now + PAUSE_AFTER


_NUMBERS = itertools.count(1)
_SCHEDULER: Final = SliceScheduler(MAX_RUNNING)


async def offload(
    function: Callable[Parameters, Result], /, *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Result:
    """As asyncio.to_thread, in slices: `function` calls `checkpoint` between parts of its work."""
    return await run_in(_SCHEDULER, functools.partial(function, *args, **kwargs))


async def offload_above(
    num_chars: int, function: Callable[Parameters, Result], /, *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Result:
    """`offload` for work on more than INLINE_CHARS characters; other work runs on the event loop."""
    if num_chars > INLINE_CHARS:
        return await offload(function, *args, **kwargs)
    return function(*args, **kwargs)


async def run_in(scheduler: SliceScheduler, call: Callable[[], Result]) -> Result:
    """`offload` with a given scheduler."""
    context = contextvars.copy_context()
    job = _Job(functools.partial(context.run, call), caller.current.get(), scheduler)
    context.run(on_checkpoint.set, job.checkpoint)
    job.start()
    try:
        result: Result = await asyncio.wrap_future(job.future)
        return result
    finally:
        job.abandon()  # no effect after it ran
        del job, context  # as in `_run`

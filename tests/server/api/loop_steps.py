"""How long single steps of a server's event loop take: what a task does between two of its waits."""

import asyncio
import threading
import time
import types
from collections.abc import Coroutine, Generator
from typing import Any

from tests.server.api.conftest import PATIENCE, RunningServer


class LoopSteps:
    """Measures, from `attach` on, the steps of all new tasks of an event loop: seconds of processor of its thread,
    which other threads and processes do not lengthen."""

    def __init__(self) -> None:
        self.longest, self.where = 0.0, ""

    def clear(self) -> None:
        self.longest, self.where = 0.0, ""

    def attach(self, server: RunningServer) -> None:
        """From now on; returns when it is so."""
        attached = threading.Event()
        assert server.state.loading is not None
        loop = server.state.loading.get_loop()

        def attach() -> None:
            loop.set_task_factory(self._task)
            attached.set()

        loop.call_soon_threadsafe(attach)
        assert attached.wait(PATIENCE)

    def _task(
        self, loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any] | Generator[Any, None, Any], **more: Any
    ) -> "asyncio.Task[Any]":
        return asyncio.Task(self._timed(work), loop=loop, **more)

    @types.coroutine
    def _timed(self, work: Any) -> Generator[Any, Any, Any]:
        resume, value = work.send, None
        while True:
            began = time.thread_time()
            try:
                waiting = resume(value)
            except StopIteration as end:
                return end.value
            finally:
                self._note(time.thread_time() - began, work)
            try:
                resume, value = work.send, (yield waiting)
            except GeneratorExit:
                work.close()
                raise
            except BaseException as error:
                resume, value = work.throw, error

    def _note(self, seconds: float, work: Any) -> None:
        if seconds > self.longest:
            self.longest, self.where = seconds, _place(work)


def _place(work: Any) -> str:
    """The functions that wait for each other, from the outside in."""
    names = []
    while work is not None:
        names.append(getattr(work, "__qualname__", type(work).__name__))
        work = getattr(work, "cr_await", None)
    return " > ".join(names[-5:])

"""The translation of files: all that are sent, to whatever API, are admitted and served in turn here."""

import asyncio
import contextlib
import logging
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from server.api.requests.deadline import before
from server.api.requests.errors import ApiError, from_engine
from server.api.serving.finished_files import FileReservation, FinishedFile, FinishedFiles
from server.engine.request import DeadlineExceeded
from server.scheduling.shared_budget import SharedBudget

logger = logging.getLogger("ringmt")

MAX_RUNNING = 4
"""Files of an owner that are translated at the same time while their clients wait, and as many again for which no
request waits."""


class Turns:
    """At most `limit` of an owner at a time (see `SharedBudget`); owners that wait take turns. Use it from one event
    loop."""

    def __init__(self, limit: int) -> None:
        self._running = SharedBudget(limit)
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        """By owner, in the order of their turns."""

    @property
    def num_running(self) -> int:
        return self._running.total

    @contextlib.asynccontextmanager
    async def turn(self, owner: str) -> AsyncIterator[None]:
        """Wait for the owner's turn; the block is what it is for."""
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(owner, deque()).append(mine)
        self._pass_on()
        try:
            await mine
            yield
        finally:
            if mine.done() and not mine.cancelled():  # it had its turn, if only to be cancelled in the same moment
                self._running.release(owner, 1)
            else:
                mine.cancel()
            self._pass_on()

    def _pass_on(self) -> None:
        """Let in whose turn it is, as long as there is room for them: of the owners who have fewest, the first."""
        while fitting := [one for one in self._waiting if self._running.fits(one, 1)]:
            owner = min(fitting, key=self._running.held)
            first = self._waiting[owner].popleft()
            if self._waiting[owner]:
                self._waiting.move_to_end(owner)
            else:
                del self._waiting[owner]
            if not first.done():
                self._running.acquire(owner, 1)
                first.set_result(None)


class FileJobs:
    """Admits files, and translates those for which no request waits. Use it from one event loop."""

    def __init__(self, files: FinishedFiles, seconds: float) -> None:
        """`seconds`: how long a file may take for which no request waits, its turn included."""
        self.files, self._seconds = files, seconds
        self._of_requests, self._of_background = Turns(MAX_RUNNING), Turns(MAX_RUNNING)
        self._tasks: set[asyncio.Task[None]] = set()
        self._begun: set[FileReservation] = set()

    @property
    def num_running(self) -> int:
        """Files that are being translated."""
        return self._of_requests.num_running + self._of_background.num_running

    def turn(self, room: FileReservation) -> contextlib.AbstractAsyncContextManager[None]:
        """Wait for a file's turn, in a request that waits for its translation."""
        return self._of_requests.turn(room.owner)

    def start(
        self, room: FileReservation, work: Callable[[], Coroutine[Any, Any, FinishedFile]], leave: Callable[[], None]
    ) -> None:
        """Translate a file when its turn comes. `leave` is called when its work is over, whatever came of it."""
        room.is_kept = True
        task = asyncio.create_task(self._translate(room, work))
        self._tasks.add(task)
        task.add_done_callback(lambda task: self._end(task, room, leave))

    def has_begun(self, room: FileReservation) -> bool:
        """Whether the turn of a file has come that was started."""
        return room in self._begun

    async def stop(self) -> None:
        """Cancel what was started."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _translate(self, room: FileReservation, work: Callable[[], Coroutine[Any, Any, FinishedFile]]) -> None:
        try:
            finished = await before(time.monotonic() + self._seconds, self._in_turn(room, work))
            self.files.keep(room, finished)
        except Exception as error:
            self._keep_error(room, error)

    async def _in_turn(
        self, room: FileReservation, work: Callable[[], Coroutine[Any, Any, FinishedFile]]
    ) -> FinishedFile:
        async with self._of_background.turn(room.owner):
            self._begun.add(room)
            return await work()

    def _keep_error(self, room: FileReservation, error: Exception) -> None:
        """Keep what the client hears of why its file was not translated; an error that nobody knows is logged."""
        known = error if isinstance(error, ApiError) else from_engine(error)
        if isinstance(error, DeadlineExceeded):
            message = f"the file was not translated within the server's file_timeout ({self._seconds:g} s)"
            known = ApiError("deadline_exceeded", message)
        if known is None:
            logger.error("a file was not translated", exc_info=error)
            known = ApiError("internal", "The server failed; its log has more.")
        self.files.keep(room, known)

    def _end(self, task: "asyncio.Task[None]", room: FileReservation, leave: Callable[[], None]) -> None:
        self._tasks.discard(task)
        self._begun.discard(room)
        if room.outcome is None:  # cancelled
            self.files.remove(room)
        leave()

"""Admits the files of all three APIs, and translates them in turns of their owners."""

import asyncio
import contextlib
import logging
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

from server.api.requests.deadline import run_until
from server.api.requests.errors import ApiError, known_error
from server.api.serving.file_progress import FileProgress
from server.api.serving.finished_files import FileReservation, FinishedFile, FinishedFiles
from server.documents.batches import OnProgress
from server.engine.request import DeadlineExceeded
from server.scheduling.shared_budget import SharedBudget

logger = logging.getLogger("ringmt")

STATUS = "/v1/files/{file_id}"
"""The path of a file that is translated after its request."""
SURE_SECONDS = 2.0
"""Seconds of a file's translation after which its speed is known."""
SLACK = 1.5
"""How many times the time that is left a file may take by its speed until now; the speed varies."""
ASYNCHRONOUS = "send it with the header 'Prefer: respond-async', or to POST /v2/document"
"""How a file is translated whatever time it takes."""
MAX_RUNNING = 4
"""Files of an owner that are translated at the same time while their clients wait, and as many again for which no
request waits."""


class Turns:
    """At most `limit` of an owner at a time (see `SharedBudget`); owners that wait take turns. Use it from one event
    loop."""

    def __init__(self, limit: int) -> None:
        self._running = SharedBudget(limit)
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        """Waiting files by owner; owners are in the order of their turns."""

    @property
    def num_running(self) -> int:
        return self._running.total

    @contextlib.asynccontextmanager
    async def turn(self, owner: str) -> AsyncIterator[None]:
        """Wait for a turn of the owner, which lasts as long as the block."""
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(owner, deque()).append(place)
        self._pass_on()
        try:
            await place
            yield
        finally:
            if place.done() and not place.cancelled():  # it had its turn, even if it was cancelled before it ran
                self._running.release(owner, 1)
            else:
                place.cancel()
            self._pass_on()

    def _pass_on(self) -> None:
        """Start turns while the limit allows: next is the owner with the fewest running, of several the first in
        order."""
        while fitting := [owner for owner in self._waiting if self._running.fits(owner, 1)]:
            owner = min(fitting, key=self._running.held)
            first = self._waiting[owner].popleft()
            if self._waiting[owner]:
                self._waiting.move_to_end(owner)
            else:
                del self._waiting[owner]
            if not first.done():
                self._running.acquire(owner, 1)
                first.set_result(None)


def within(deadline: float, progress: FileProgress, advice: str = ASYNCHRONOUS, param: str = "file") -> OnProgress:
    """Counts the progress of a file for which a client waits. Raises ApiError (413) with the `advice` as soon as the
    file will not be done by `deadline`, a time.monotonic() value; `param` is the field that has the file."""

    def on_progress(done: int, total: int) -> None:
        progress.update(done, total)
        left, available = progress.seconds_left, deadline - time.monotonic()
        if left is not None and progress.seconds > SURE_SECONDS and left > SLACK * available:
            seconds = round(progress.seconds + left)
            message = f"the {param} takes about {seconds} seconds, longer than the request may; {advice}"
            raise ApiError("too_large", message, param)

    return on_progress


class FileJobs:
    """Admits files, and translates files in the background. Use it from one event loop."""

    def __init__(self, files: FinishedFiles, seconds: float) -> None:
        """`seconds`: the longest time of a file in the background, including the wait for its turn."""
        self.files, self._seconds = files, seconds
        self._of_requests, self._of_background = Turns(MAX_RUNNING), Turns(MAX_RUNNING)
        self.free_space: Callable[[str, int], Awaitable[None]] | None = None
        """Of an owner's files in other processes removes what its next file, of so many bytes, needs."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._begun: set[FileReservation] = set()

    async def admit(self, owner: str, num_bytes: int) -> FileReservation:
        """As FinishedFiles.admit."""
        if self.free_space is not None:
            await self.free_space(owner, max(1, num_bytes))
        return self.files.admit(owner, num_bytes)

    @property
    def num_running(self) -> int:
        """Files that are being translated."""
        return self._of_requests.num_running + self._of_background.num_running

    def turn(self, reservation: FileReservation) -> contextlib.AbstractAsyncContextManager[None]:
        """Wait for the turn of a file that is translated during its request."""
        return self._of_requests.turn(reservation.owner)

    def start(
        self,
        reservation: FileReservation,
        work: Callable[[], Coroutine[Any, Any, FinishedFile]],
        on_end: Callable[[], None],
    ) -> None:
        """Translate a file in the background when its turn comes. `on_end` is called at the end, also after an
        error."""
        reservation.is_kept = True
        task = asyncio.create_task(self._translate(reservation, work))
        self._tasks.add(task)
        task.add_done_callback(lambda task: self._end(task, reservation, on_end))

    def has_begun(self, reservation: FileReservation) -> bool:
        """Whether the translation of a file in the background has begun."""
        return reservation in self._begun

    async def stop(self) -> None:
        """Cancel all translations in the background."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _translate(
        self, reservation: FileReservation, work: Callable[[], Coroutine[Any, Any, FinishedFile]]
    ) -> None:
        try:
            finished = await run_until(time.monotonic() + self._seconds, self._in_turn(reservation, work))
            self.files.keep(reservation, finished)
        except Exception as error:
            self._keep_error(reservation, error)

    async def _in_turn(
        self, reservation: FileReservation, work: Callable[[], Coroutine[Any, Any, FinishedFile]]
    ) -> FinishedFile:
        async with self._of_background.turn(reservation.owner):
            self._begun.add(reservation)
            return await work()

    def _keep_error(self, reservation: FileReservation, error: Exception) -> None:
        """Keep the error for the client; an unexpected error is logged."""
        known = known_error(error)
        if isinstance(error, DeadlineExceeded):
            message = f"the file was not translated within the server's file_timeout ({self._seconds:g} s)"
            known = ApiError("deadline_exceeded", message)
        if known is None:
            logger.error("a file was not translated", exc_info=error)
            known = ApiError("internal", "The server failed; its log has more.")
        self.files.keep(reservation, known)

    def _end(self, task: "asyncio.Task[None]", reservation: FileReservation, on_end: Callable[[], None]) -> None:
        self._tasks.discard(task)
        self._begun.discard(reservation)
        if reservation.outcome is None:  # cancelled
            self.files.remove(reservation)
        on_end()

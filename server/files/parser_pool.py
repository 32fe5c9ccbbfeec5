"""Opens and writes files in a few processes, which have limits and can be killed. Owners take turns."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from server.engine.request import EngineStopped
from server.files.formats.base import DamagedFile, FileTooLarge
from server.files.formats.registry import suffix_of
from server.files.limits import FileLimits
from server.files.parser_worker import Answer, Failed, Killed, ParserWorker, count_nothing
from server.files.parsing import SourceFile
from server.scheduling.fair_queue import FairQueue

MAX_WAITING = 64
"""Files that wait to be opened, at most."""
TURN_BYTES = 2**18
"""Bytes of files that an owner may have parsed before it is the next one's turn."""
_END_SECONDS = 5.0


class TooManyFiles(Exception):
    """No more files may wait to be opened; try again later."""


class ParserPool:
    """A FileParser with at most `size` processes, which start when they are needed. Use it from one event loop.

    What is cancelled leaves at once: a process that parses for it is killed, and another takes its place.
    """

    def __init__(
        self, limits: FileLimits, size: int = 2, max_waiting: int = MAX_WAITING, failed: Failed = count_nothing
    ) -> None:
        """`failed` is called, in any thread, whenever a process gives up a file."""
        self._failed = failed
        self._limits, self._size, self._max_waiting = limits, size, max_waiting
        self._idle: list[ParserWorker] = []
        self._workers: list[ParserWorker] = []
        self._waiting: FairQueue[asyncio.Future[ParserWorker]] = FairQueue(TURN_BYTES)
        self._waiting_of: dict[str, int] = {}
        """How many files of each owner wait."""
        self._is_stopped = False

    @property
    def num_waiting(self) -> int:
        """Files that wait for a process."""
        return len(self._waiting)

    async def texts(self, file: SourceFile) -> list[str]:
        """Raises FileError, TooManyFiles, EngineStopped."""
        suffix_of(file.name, file.data)  # what is of no format needs no process
        self._check_room(file.owner)
        answer = await self._ask(file, {})
        texts = answer.fields.get("texts")
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise DamagedFile("the file cannot be read: what reads it gave no texts")
        return texts

    async def write(self, file: SourceFile, translations: Sequence[str]) -> bytes:
        """Raises FileError, EngineStopped. It is never refused for those that wait: the work is done already."""
        return (await self._ask(file, {"translations": list(translations)})).data

    async def stop(self) -> None:
        """Kill all processes; what waits and what comes later is refused with EngineStopped."""
        self._is_stopped = True
        for waiting in list(self._waiting):
            if not waiting.done():
                waiting.set_exception(EngineStopped("the server is stopping"))
        workers, self._workers, self._idle = self._workers, [], []
        for worker in workers:
            worker.stop()
        if workers:
            await asyncio.wait([asyncio.wrap_future(worker.ended) for worker in workers], timeout=_END_SECONDS)

    def _check_room(self, owner: str) -> None:
        """Raise TooManyFiles where as many files wait as may; those of one key are at most half of them."""
        is_full = len(self._waiting) >= self._max_waiting
        if is_full or (owner and self._waiting_of.get(owner, 0) >= max(1, self._max_waiting // 2)):
            raise TooManyFiles("too many files wait to be opened; try again later")

    async def _ask(self, file: SourceFile, more: Mapping[str, Any]) -> Answer:
        worker = await self._free_worker(file)
        fields = {"name": file.name, "language": file.language, "max_characters": file.max_characters, **more}
        answered = asyncio.wrap_future(worker.ask(fields, file.data))
        answered.add_done_callback(lambda answered: self._release(worker, answered))
        try:
            await asyncio.wait((answered,), timeout=self._limits.wall_seconds)
        finally:
            if not answered.done():
                worker.kill()
        await asyncio.wait((answered,))
        try:
            return answered.result()
        except Killed:
            if self._is_stopped:
                raise EngineStopped("the server is stopping") from None
            self._failed("wall_time")
            seconds = self._limits.wall_seconds
            raise FileTooLarge(
                f"the file was not done within {seconds:g} seconds; split it, or try again later"
            ) from None

    async def _free_worker(self, file: SourceFile) -> ParserWorker:
        """One that nobody uses, when it is this file's turn."""
        if self._is_stopped:
            raise EngineStopped("the server is stopping")
        if not self._idle and len(self._workers) < self._size:
            self._workers.append(ParserWorker(self._limits, self._failed))
            self._idle.append(self._workers[-1])
        if self._idle:  # then nobody waits
            return self._idle.pop()
        turn: asyncio.Future[ParserWorker] = asyncio.get_running_loop().create_future()
        self._waiting.put(turn, max(1, len(file.data)), file.owner)
        self._waiting_of[file.owner] = self._waiting_of.get(file.owner, 0) + 1
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self._pass_on(turn.result())
            raise
        finally:
            self._waiting.remove(turn, file.owner)
            self._waiting_of[file.owner] -= 1
            if not self._waiting_of[file.owner]:
                del self._waiting_of[file.owner]

    def _release(self, worker: ParserWorker, answered: "asyncio.Future[Answer]") -> None:
        if not answered.cancelled():
            answered.exception()  # whoever asked may be gone; it counts as seen
        self._pass_on(worker)

    def _pass_on(self, worker: ParserWorker) -> None:
        """Give a worker to the file whose turn it is."""
        if self._is_stopped:
            return
        while self._waiting:
            turn = self._waiting.pop()
            if not turn.done():
                turn.set_result(worker)
                return
        self._idle.append(worker)

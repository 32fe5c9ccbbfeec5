"""Reads and writes files in a few parser processes, which have limits and can be killed. Owners take turns.

One process, and the thread that controls it, is in parser_worker.py; the program of the process is
parser_process.py."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from server.engine.request import EngineStopped
from server.files.formats.base import DamagedFile, FileTooLarge
from server.files.formats.registry import suffix_of
from server.files.limits import FileLimits
from server.files.parser_worker import Answer, Killed, OnFailure, ParserWorker, ignore_failure
from server.files.parsing import SourceFile, WrittenFile
from server.scheduling.fair_queue import FairQueue

MAX_WAITING = 64
"""The most files that wait to be opened."""
QUANTUM_BYTES = 2**18
"""The quantum of the fair queue: bytes of an owner's files that are parsed before the next owner's turn."""
_END_SECONDS = 5.0


class TooManyFiles(Exception):
    """The queue of files to be opened is full; try again later."""


class ParserPool:
    """A FileParser with at most `size` processes, which start when they are needed. Use it from one event loop.

    A cancelled call ends at once: the process that parses for it is killed, and another process takes its place.
    """

    def __init__(
        self, limits: FileLimits, size: int = 2, max_waiting: int = MAX_WAITING, on_failure: OnFailure = ignore_failure
    ) -> None:
        """`on_failure` is called, in any thread, whenever a process gives up a file."""
        self._on_failure = on_failure
        self._limits, self._size, self._max_waiting = limits, size, max_waiting
        self._idle: list[ParserWorker] = []
        self._workers: list[ParserWorker] = []
        self._waiting: FairQueue[asyncio.Future[ParserWorker]] = FairQueue(QUANTUM_BYTES)
        self._waiting_of: dict[str, int] = {}
        """The number of waiting files of each owner."""
        self._is_stopped = False

    async def texts(self, file: SourceFile) -> list[str]:
        """Raises FileError, TooManyFiles, EngineStopped."""
        suffix_of(file.name, file.data)  # a file of an unknown format needs no process
        self._check_waiting(file.owner)
        answer = await self._run(file, {})
        texts = answer.fields.get("texts")
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise DamagedFile("the file cannot be read: its parser returned no texts")
        return texts

    async def write(self, file: SourceFile, translations: Sequence[str]) -> WrittenFile:
        """Raises FileError, EngineStopped. A full queue refuses no writing: the file is translated already."""
        answer = await self._run(file, {"translations": list(translations)})
        notes = answer.fields.get("notes")
        return WrittenFile(answer.data, tuple(map(str, notes)) if isinstance(notes, list) else ())

    async def stop(self) -> None:
        """Kill all processes; waiting and later calls raise EngineStopped."""
        self._is_stopped = True
        for waiting in list(self._waiting):
            if not waiting.done():
                waiting.set_exception(EngineStopped("the server is stopping"))
        workers, self._workers, self._idle = self._workers, [], []
        for worker in workers:
            worker.stop()
        if workers:
            await asyncio.wait([asyncio.wrap_future(worker.ended) for worker in workers], timeout=_END_SECONDS)

    def _check_waiting(self, owner: str) -> None:
        """Raise TooManyFiles when the queue is full; the files of one key fill at most half of it."""
        is_full = len(self._waiting) >= self._max_waiting
        if is_full or (owner and self._waiting_of.get(owner, 0) >= max(1, self._max_waiting // 2)):
            raise TooManyFiles("too many files wait to be opened; try again later")

    async def _run(self, file: SourceFile, more: Mapping[str, Any]) -> Answer:
        worker = await self._free_worker(file)
        fields = {"name": file.name, "language": file.language, "max_characters": file.max_characters}
        fields |= {"options": asdict(file.options), **more}
        answered = asyncio.wrap_future(worker.submit(fields, file.data))
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
            self._on_failure("wall_time")
            seconds = self._limits.wall_seconds
            raise FileTooLarge(
                f"the file was not done within {seconds:g} seconds; split it, or try again later"
            ) from None

    async def _free_worker(self, file: SourceFile) -> ParserWorker:
        """An idle worker, when it is this file's turn."""
        if self._is_stopped:
            raise EngineStopped("the server is stopping")
        if not self._idle and len(self._workers) < self._size:
            self._workers.append(ParserWorker(self._limits, self._on_failure))
            self._idle.append(self._workers[-1])
        if self._idle:  # then no file waits
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
            answered.exception()  # the caller may have been cancelled; the exception counts as retrieved
        self._pass_on(worker)

    def _pass_on(self, worker: ParserWorker) -> None:
        """Give a worker to the file that is first in the queue."""
        if self._is_stopped:
            return
        while self._waiting:
            turn = self._waiting.pop()
            if not turn.done():
                turn.set_result(worker)
                return
        self._idle.append(worker)

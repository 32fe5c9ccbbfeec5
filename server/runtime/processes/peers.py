"""Messages between the processes of a server, over a Unix socket of each process in a private folder."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

logger = logging.getLogger("ringmt")

MAX_FRAME = 2**26
"""Bytes of one frame."""
MAX_DROPPED = 2**16
"""Bytes that are dropped at once."""
CLOSE_SECONDS = 60.0
"""Seconds in which the other process reads its answer and closes the connection."""
_LENGTH = 4


class PeerGone(Exception):
    """The process has ended, or does not answer."""


class Link:
    """A connection between two processes that carries frames of bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def read(self) -> bytes | None:
        """The next frame; None at the end."""
        try:
            length = int.from_bytes(await self._reader.readexactly(_LENGTH), "big")
            if length > MAX_FRAME:
                raise PeerGone(f"a frame of {length} bytes")
            return await self._reader.readexactly(length)
        except (asyncio.IncompleteReadError, OSError):
            return None

    async def write(self, frame: bytes) -> None:
        """Raises PeerGone."""
        try:
            self._writer.write(len(frame).to_bytes(_LENGTH, "big") + frame)
            await self._writer.drain()
        except OSError as error:
            raise PeerGone(str(error)) from None

    async def read_to_end(self) -> None:
        """Wait until the other process closes the connection, and drop what it still writes. If this end were closed
        first, the other process could not write, and would lose the frames that it has not read."""
        with contextlib.suppress(OSError):
            while await self._reader.read(MAX_DROPPED):
                pass

    def close(self) -> None:
        self._writer.close()


Handler = Callable[[Link], Awaitable[None]]


class Peers:
    """The other processes of the server. `handlers`, by subject, answer their requests. Use it from one event loop."""

    def __init__(self, folder: Path, slot: int, count: int) -> None:
        self.folder, self.slot, self.count = folder, slot, count
        self.handlers: dict[str, Handler] = {}
        self._server: asyncio.Server | None = None
        self._links: set[asyncio.Task[None]] = set()

    @property
    def others(self) -> list[int]:
        return [slot for slot in range(self.count) if slot != self.slot]

    async def open(self) -> None:
        """Answer other processes from now on."""
        path = self._path(self.slot)
        path.unlink(missing_ok=True)  # of the worker before in this slot
        self._server = await asyncio.start_unix_server(self._answer, path)

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for link in self._links:
            link.cancel()

    def on_request(self, subject: str, answer: Callable[[bytes], Awaitable[bytes]]) -> None:
        """Answer every request about a subject with one frame."""

        async def handle(link: Link) -> None:
            request = await link.read()
            if request is not None:
                await link.write(await answer(request))

        self.handlers[subject] = handle

    @contextlib.asynccontextmanager
    async def link(self, slot: int, subject: str) -> AsyncIterator[Link]:
        """A connection to the handler of a subject in another process. Raises PeerGone."""
        try:
            reader, writer = await asyncio.open_unix_connection(self._path(slot))
        except OSError as error:
            raise PeerGone(f"process {slot} does not answer: {error}") from None
        link = Link(reader, writer)
        try:
            await link.write(subject.encode())
            yield link
        finally:
            link.close()

    async def request(self, slot: int, subject: str, request: bytes = b"") -> bytes:
        """Raises PeerGone."""
        async with self.link(slot, subject) as link:
            await link.write(request)
            answer = await link.read()
        if answer is None:
            raise PeerGone(f"process {slot} ended before its answer")
        return answer

    async def request_all(self, subject: str, request: bytes = b"", seconds: float = 30.0) -> dict[int, bytes]:
        """The answers of the other processes that answer in time, by slot."""
        answers = await asyncio.gather(*(self._request_within(slot, subject, request, seconds) for slot in self.others))
        return {slot: answer for slot, answer in zip(self.others, answers, strict=True) if answer is not None}

    async def _request_within(self, slot: int, subject: str, request: bytes, seconds: float) -> bytes | None:
        with contextlib.suppress(PeerGone, TimeoutError):
            async with asyncio.timeout(seconds):
                return await self.request(slot, subject, request)
        return None

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link, task = Link(reader, writer), asyncio.current_task()
        assert task is not None
        self._links.add(task)
        try:
            subject = await link.read()
            handler = None if subject is None else self.handlers.get(subject.decode())
            if handler is not None:
                await handler(link)
                async with asyncio.timeout(CLOSE_SECONDS):
                    await link.read_to_end()
        except (PeerGone, TimeoutError):
            pass
        except Exception:
            logger.exception("another process of this server got no answer")
        finally:
            self._links.discard(task)
            link.close()

    def _path(self, slot: int) -> Path:
        return self.folder / f"{slot}.sock"

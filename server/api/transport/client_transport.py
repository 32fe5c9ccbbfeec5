"""A transport that sends the head and the body of an answer in one write, and reads bodies in turns."""

import asyncio
from collections.abc import Callable
from typing import Any


class ClientTransport(asyncio.Transport):
    """Joins what is written before `flush`, or in one iteration of the event loop, into one write to the socket.

    uvicorn writes head and body one after the other. A server that is killed in between leaves a head without its body,
    and a proxy that has passed the head on cannot ask another server any more. The system delivers what a socket has
    taken, even when its process is killed.

    It reads while neither uvicorn, which lets a body wait until its route reads it, nor `hold_reading` stops it."""

    def __init__(
        self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, closing: Callable[[], None] = lambda: None
    ) -> None:
        """`closing` is called after `close`, when something may still wait to be sent."""
        super().__init__()
        self._transport, self._loop, self._closing = transport, loop, closing
        self._waiting: list[bytes] = []
        self._is_paused = self._is_held = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._waiting:
            self._loop.call_soon(self.flush)
        self._waiting.append(bytes(data))

    def flush(self) -> None:
        joined = b"".join(self._waiting)
        self._waiting = []
        if joined and not self._transport.is_closing():  # it is when the client has hung up since
            self._transport.write(joined)

    def close(self) -> None:
        self.flush()
        if not self._transport.is_closing():
            self._transport.close()
            self._closing()

    def get_write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size() + sum(map(len, self._waiting))

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def abort(self) -> None:
        self._transport.abort()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        self._is_paused = True
        self._read_or_not()

    def resume_reading(self) -> None:
        self._is_paused = False
        self._read_or_not()

    def hold_reading(self) -> None:
        """Read nothing until `release_reading`, whatever uvicorn does."""
        self._is_held = True
        self._read_or_not()

    def release_reading(self) -> None:
        """Read again, unless uvicorn has paused."""
        self._is_held = False
        self._read_or_not()

    def _read_or_not(self) -> None:
        stops = self._is_paused or self._is_held
        if stops is self._transport.is_reading() and not self._transport.is_closing():
            self._transport.pause_reading() if stops else self._transport.resume_reading()

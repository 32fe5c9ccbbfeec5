"""Turns in which connections read their bodies, so that many large bodies at once do not hold the event loop."""

import asyncio
from typing import Final, Protocol

BYTES_PER_TURN: Final = 2**20
"""Bytes of bodies that all connections read in one iteration of the event loop before they take turns: about 2 ms."""
READERS_PER_TURN: Final = 4
"""Connections that read on in one iteration, 256 KB each at most."""


class Reader(Protocol):
    """A connection that receives a body."""

    def hold_reading(self) -> None:
        """Read nothing for now."""

    def release_reading(self) -> None:
        """Read on."""


class ReadTurns:
    """For all connections of one event loop. Once they have read BYTES_PER_TURN in an iteration, each waits for its
    turn after it has read; a client that sends nothing holds no turn."""

    def __init__(self) -> None:
        self._received = 0
        self._waiting: dict[Reader, None] = {}
        """Connections that wait, in the order of their turns."""
        self._has_next = False

    def received(self, reader: Reader, size: int, loop: asyncio.AbstractEventLoop) -> None:
        """Count bytes of a body; `reader` may have to wait for its turn."""
        self._received += size
        if self._received > BYTES_PER_TURN:
            reader.hold_reading()
            self._waiting[reader] = None
        if not self._has_next:
            self._has_next = True
            loop.call_soon(self._next_turn, loop)

    def remove(self, reader: Reader) -> None:
        """Forget a connection that was closed. Idempotent."""
        self._waiting.pop(reader, None)

    def _next_turn(self, loop: asyncio.AbstractEventLoop) -> None:
        self._received = 0
        for reader in list(self._waiting)[:READERS_PER_TURN]:
            del self._waiting[reader]
            reader.release_reading()
        self._has_next = bool(self._waiting)
        if self._has_next:
            loop.call_soon(self._next_turn, loop)

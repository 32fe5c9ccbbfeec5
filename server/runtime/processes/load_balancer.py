"""Accepts the connections of a server and gives each to the worker with the fewest."""

import contextlib
import logging
import selectors
import socket
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from server.runtime.processes.board import OPEN, READY, Board
from server.runtime.processes.connection_channel import ConnectionChannel

logger = logging.getLogger("ringmt")

FRESH_SECONDS = 2.0
"""Seconds since the last sign of a worker's event loop, after which others get the connections, if there are any."""
ACCEPT_AT_ONCE, MOST_HELD = 64, 64
"""Connections that are accepted before something else is done, and that may wait here for a worker."""


@dataclass
class WorkerSlot:
    """The place of a worker on the board, `pid` None while there is none, and the channel of connections to it, which
    the next worker in the slot takes over."""

    number: int
    channel: ConnectionChannel = field(default_factory=ConnectionChannel)
    pid: int | None = None


class LoadBalancer:
    """Connections that no worker can take wait here, or in the sockets."""

    def __init__(
        self,
        listening: Sequence[socket.socket],
        board: Board,
        slots: Sequence[WorkerSlot],
        selector: selectors.BaseSelector,
    ) -> None:
        """`selector` gets the listening sockets, as long as connections are accepted."""
        self._listening, self._board, self._slots, self._selector = listening, board, slots, selector
        self._held: deque[socket.socket] = deque()
        """Connections that no worker takes at the moment."""
        self._accepts = False
        self._turn = 0

    def distribute(self) -> None:
        """Send waiting connections to workers, and accept more connections as long as there is a worker for them."""
        accepts = bool(self._available()) and len(self._held) < MOST_HELD
        if accepts != self._accepts:
            self._accepts = accepts
            for listening in self._listening:
                if accepts:
                    self._selector.register(listening, selectors.EVENT_READ)
                else:
                    self._selector.unregister(listening)
        for _ in range(len(self._held)):
            self._pass_on(self._held.popleft())

    def accept(self, listening: socket.socket) -> None:
        """Accept the connections that wait in a socket, ACCEPT_AT_ONCE at most."""
        for _ in range(ACCEPT_AT_ONCE):
            try:
                connection, _ = listening.accept()
            except BlockingIOError:
                return
            except OSError as error:  # too many open files, or the client has gone
                logger.warning("a connection was not accepted: %s", error)
                time.sleep(0.01)
                return
            self._pass_on(connection)

    def reclaim(self, slot: WorkerSlot) -> None:
        """Take back the connections that an ended worker did not take."""
        self._held.extend(slot.channel.reclaim())

    def close(self) -> None:
        """Close the listening sockets and what waits here."""
        for connection in (*self._listening, *self._held):
            connection.close()

    def _available(self) -> list[WorkerSlot]:
        """Workers that may get a connection: those that are ready, or else those that at least answer; of these, those
        whose event loops run."""
        board = self._board
        alive = [slot for slot in self._slots if slot.pid and board.state(slot.number) in (OPEN, READY)]
        able = [slot for slot in alive if board.state(slot.number) == READY] or alive
        return [slot for slot in able if board.seconds_since_beat(slot.number) < FRESH_SECONDS] or able

    def _pass_on(self, connection: socket.socket) -> None:
        """Send a connection to the worker with the fewest connections; among several to each in turn."""
        available = self._available()
        self._turn += 1
        available.sort(key=lambda slot: (self._load(slot), (slot.number - self._turn) % len(self._slots)))
        for slot in available:
            with contextlib.suppress(OSError):
                if slot.channel.send(connection):
                    return
        self._held.append(connection)

    def _load(self, slot: WorkerSlot) -> int:
        """Connections that the worker has or will have."""
        on_their_way = slot.channel.num_sent - self._board.received(slot.number)
        return self._board.connections(slot.number) + on_their_way

"""Bounds on all connections together: how many are open, and how much of their answers waits to be read."""

import time
from typing import Literal, Protocol

from server.telemetry.metrics import NO_MODEL, Metrics

RESERVED = 64
"""Connections beyond the bound that are accepted for probes, which always get an answer."""
UNREAD_SECONDS = 5.0
"""A connection whose client has not read its answer for so long gives way to a new one."""
MAX_UNREAD_BYTES = 64 * 2**20
"""Answers, of all connections, that wait for their clients to read them."""
MAX_PIPELINED_BYTES = 16 * 2**20
"""Bodies, of all connections, of requests that were sent before the one before them was answered."""

Reason = Literal["idle", "full", "unread", "pipelined", "head"]


class Connection(Protocol):
    """What is closed to keep the bounds."""

    @property
    def unread_bytes(self) -> int:
        """Bytes of answers that its client has not taken."""

    def abort(self) -> None:
        """Close it at once; what was not sent is lost."""


class Connections:
    """At most `most` connections, and `RESERVED` more for probes. For a new one an idle one is closed, that which has
    been idle longest: clients expect that of a connection on which nothing happens."""

    def __init__(self, most: int, metrics: Metrics) -> None:
        self.most = most
        self.pipelined_bytes = 0
        self._open: dict[Connection, None] = {}
        self._idle: dict[Connection, None] = {}
        """Those without a request, longest first; a request is one when its head is complete."""
        self._unread: dict[Connection, float] = {}
        """Those whose clients do not read, longest first, and since when."""
        self._closed = metrics.connections_closed_total
        metrics.open_connections.labels(NO_MODEL).set_function(lambda: len(self._open))

    def __len__(self) -> int:
        return len(self._open)

    @property
    def is_full(self) -> bool:
        """Whether requests other than probes are refused: all connections are busy."""
        return len(self._open) > self.most

    def add(self, connection: Connection) -> None:
        """Count a new connection; it, or an idle one instead, may be closed at once."""
        self._open[connection] = None
        if self.is_full:
            self._close_one()
        if len(self._open) > self.most + RESERVED:
            self.close(connection, "full")
        else:
            self._idle[connection] = None

    def _close_one(self) -> None:
        if self._idle:
            self.close(next(iter(self._idle)), "idle")
        elif self._unread:
            connection, since = next(iter(self._unread.items()))
            if time.monotonic() - since > UNREAD_SECONDS:
                self.close(connection, "unread")

    def close(self, connection: Connection, reason: Reason) -> None:
        """Close it, and count why."""
        self.remove(connection)
        self.count(reason)
        connection.abort()

    def count(self, reason: Reason) -> None:
        """Count a connection that is closed to keep a bound."""
        self._closed.labels(reason, NO_MODEL).inc()

    def remove(self, connection: Connection) -> None:
        """Forget a connection that is closed. It may be called again."""
        for kept in (self._open, self._idle, self._unread):
            kept.pop(connection, None)

    def is_busy(self, connection: Connection) -> None:
        """It has a request."""
        self._idle.pop(connection, None)

    def is_idle(self, connection: Connection) -> None:
        """Its last request is answered."""
        if connection in self._open:
            self._idle[connection] = None

    def is_unread(self, connection: Connection) -> None:
        """Its client does not read its answer. Where too much of all answers is unread, connections are closed, those
        first whose clients have not read for longest."""
        if connection in self._open:
            self._unread.setdefault(connection, time.monotonic())
        unread = sum(other.unread_bytes for other in self._unread)
        while unread > MAX_UNREAD_BYTES and self._unread:
            longest = next(iter(self._unread))
            unread -= longest.unread_bytes
            self.close(longest, "unread")

    def is_read(self, connection: Connection) -> None:
        """Its client reads again."""
        self._unread.pop(connection, None)

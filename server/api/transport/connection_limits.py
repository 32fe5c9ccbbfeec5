"""Limits on all connections together: open connections, and bytes of answers that clients have not read."""

import time
from collections.abc import Callable
from typing import Literal, Protocol

from server.telemetry.metrics import Metrics
from server.telemetry.series import NO_MODEL

RESERVED = 64
"""Connections beyond the limit that are accepted for probes, which are always answered."""
UNREAD_SECONDS = 5.0
"""Seconds after which a connection whose client does not read its answer may be closed for a new one."""
MAX_UNREAD_BYTES = 64 * 2**20
"""Bytes of answers of all connections that clients have not read."""
MAX_PIPELINED_BYTES = 16 * 2**20
"""Bytes of bodies of all connections that arrive before the answer to the request before them."""

Reason = Literal["idle", "full", "unread", "pipelined", "head"]


class Connection(Protocol):
    """A connection that may be closed to keep the limits."""

    @property
    def unread_bytes(self) -> int:
        """Bytes of answers that its client has not taken."""

    def abort(self) -> None:
        """Close it at once; what was not sent is lost."""


class Connections:
    """At most `most` connections, and `RESERVED` more for probes. For a new connection the connection that has been
    idle for longest is closed, as clients expect of idle connections."""

    def __init__(self, most: int, metrics: Metrics, on_change: Callable[[int], None] = lambda number: None) -> None:
        """`on_change` is called with the number of open connections."""
        self.most, self._on_change = most, on_change
        self.pipelined_bytes = 0
        self._open: dict[Connection, None] = {}
        self._idle: dict[Connection, None] = {}
        """Connections without a request whose head is complete, the longest idle first."""
        self._unread: dict[Connection, float] = {}
        """Connections whose clients do not read, and since when, the longest first."""
        self._closed = metrics.connections_closed_total
        metrics.open_connections.labels(NO_MODEL).set_function(lambda: len(self._open))

    def __len__(self) -> int:
        return len(self._open)

    @property
    def is_full(self) -> bool:
        """Whether requests other than probes are refused: all connections are busy."""
        return len(self._open) > self.most

    def add(self, connection: Connection) -> None:
        """Count a new connection; it, or an idle connection, may be closed at once."""
        self._open[connection] = None
        self._on_change(len(self._open))
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
        """Close a connection, and count the reason."""
        self.remove(connection)
        self.count(reason)
        connection.abort()

    def count(self, reason: Reason) -> None:
        """Count a connection that is closed to keep a bound."""
        self._closed.labels(reason, NO_MODEL).inc()

    def remove(self, connection: Connection) -> None:
        """Remove a closed connection. Idempotent."""
        for kept in (self._open, self._idle, self._unread):
            kept.pop(connection, None)
        self._on_change(len(self._open))

    def is_busy(self, connection: Connection) -> None:
        """The connection has a request."""
        self._idle.pop(connection, None)

    def is_idle(self, connection: Connection) -> None:
        """The last request of the connection is answered."""
        if connection in self._open:
            self._idle[connection] = None

    def is_unread(self, connection: Connection) -> None:
        """The client does not read its answer. If too many bytes of all answers are unread, connections are closed,
        first those whose clients have not read for longest."""
        if connection in self._open:
            self._unread.setdefault(connection, time.monotonic())
        unread = sum(other.unread_bytes for other in self._unread)
        while unread > MAX_UNREAD_BYTES and self._unread:
            longest = next(iter(self._unread))
            unread -= longest.unread_bytes
            self.close(longest, "unread")

    def is_read(self, connection: Connection) -> None:
        """The client reads again."""
        self._unread.pop(connection, None)

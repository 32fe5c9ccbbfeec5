"""Accepted connections on their way from the supervisor to a worker.

The supervisor keeps both ends of the channel: connections that a worker did not take before it died go to another
worker."""

import contextlib
import socket

_MESSAGE = b"c"


class ConnectionChannel:
    """The channel to the workers of one slot, one worker after another."""

    def __init__(self) -> None:
        self._sending, self.receiving = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._sending.setblocking(False)
        self.receiving.setblocking(False)
        self.num_sent = 0
        """Connections that were sent to the present worker."""

    def send(self, connection: socket.socket) -> bool:
        """Send a connection, which is closed here; returns False if too many wait to be taken."""
        try:
            socket.send_fds(self._sending, [_MESSAGE], [connection.fileno()])
        except BlockingIOError:
            return False
        self.num_sent += 1
        connection.close()
        return True

    def receive(self) -> socket.socket | None:
        """The next connection; None if none waits."""
        with contextlib.suppress(BlockingIOError):
            _, descriptors, _, _ = socket.recv_fds(self.receiving, len(_MESSAGE), 1)
            if descriptors:
                connection = socket.socket(fileno=descriptors[0])
                connection.setblocking(False)
                return connection
        return None

    def reclaim(self) -> list[socket.socket]:
        """All connections that wait: their worker has ended."""
        self.num_sent = 0
        taken = []
        while (connection := self.receive()) is not None:
            taken.append(connection)
        return taken

    def close_sending(self) -> None:
        """Called in a worker, which only receives."""
        self._sending.close()

    def close(self) -> None:
        self._sending.close()
        self.receiving.close()

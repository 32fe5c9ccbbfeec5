"""The drain timeout of a server that stops."""

import time


class Drain:
    """The server takes no more requests; work in flight has some seconds to finish. Safe in a signal handler: it
    acquires no lock that the interrupted thread might hold."""

    def __init__(self, timeout: float) -> None:
        """`timeout` in seconds."""
        self._timeout = timeout
        self._until = 0.0
        self.is_running = False

    def begin(self) -> None:
        """The timeout begins; no effect when it has begun."""
        if not self.is_running:
            self._until = time.monotonic() + self._timeout
            self.is_running = True

    def stop_waiting(self) -> None:
        """End the timeout now."""
        self._until = min(self._until, time.monotonic())

    @property
    def ends_at(self) -> float | None:
        """When the timeout ends, a time.monotonic() value; None on a server that does not drain."""
        return self._until if self.is_running else None

    @property
    def seconds_left(self) -> float:
        """Seconds left of the timeout; 0 on a server that does not drain."""
        return max(0.0, self._until - time.monotonic())

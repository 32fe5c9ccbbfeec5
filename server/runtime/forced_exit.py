"""Ends the process if its threads do not end: at exit, Python waits for the threads of executors without limit."""

import contextlib
import os
import threading
import time
from collections.abc import Callable

POLL_SECONDS = 0.25
"""Seconds between two checks of the time limit."""
GRACE_SECONDS = 1.0
"""Seconds that the process has to end by itself after the server has stopped."""


class ForcedExit:
    """A thread that ends the process GRACE_SECONDS after `server_stopped` was called, or at the end of the time that
    the server has for stopping. It acquires no lock that other threads may hold."""

    def __init__(self, ends_at: Callable[[], float | None], status: Callable[[bool], int]) -> None:
        """`ends_at`: the time.monotonic() value at which the process must have ended, None while it need not.
        `status`: computes the exit status from whether the server has stopped."""
        self._ends_at, self._status = ends_at, status
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="last-exit", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def server_stopped(self) -> None:
        """Called when the server has stopped."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(POLL_SECONDS):
            ends_at = self._ends_at()
            if ends_at is not None and time.monotonic() >= ends_at:
                break
        else:
            time.sleep(GRACE_SECONDS)
        status = self._status(self._stopped.is_set())
        _write_briefly(f"ringmt: threads that did not end were left behind; the exit status is {status}\n")
        os._exit(status)


def _write_briefly(line: str) -> None:
    """Write to standard error and wait at most POLL_SECONDS: its reader may have stopped."""
    writer = threading.Thread(target=_write, args=(line,), daemon=True)
    writer.start()
    writer.join(POLL_SECONDS)


def _write(line: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, line.encode())

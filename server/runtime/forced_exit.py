"""Ends the process where its threads do not: Python waits for those of executors without limit."""

import contextlib
import os
import threading
import time
from collections.abc import Callable

POLL_SECONDS = 0.25
"""How often it is looked whether time is over."""
AFTERMATH_SECONDS = 1.0
"""What the process gets to end by itself after the server has stopped."""


class ForcedExit:
    """A thread that ends the process: AFTERMATH_SECONDS after `over` was called, or when the time that the server has
    for stopping is over, whatever else runs. It takes no lock that others may hold."""

    def __init__(self, ends_at: Callable[[], float | None], status: Callable[[bool], int]) -> None:
        """`ends_at`: the time.monotonic() value at which the process must have ended, None while it need not.
        `status`: the exit status; it is told whether the server has stopped."""
        self._ends_at, self._status = ends_at, status
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="last-exit", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def over(self) -> None:
        """The server has stopped."""
        self._over.set()

    def _run(self) -> None:
        while not self._over.wait(POLL_SECONDS):
            ends_at = self._ends_at()
            if ends_at is not None and time.monotonic() >= ends_at:
                break
        else:
            time.sleep(AFTERMATH_SECONDS)
        status = self._status(self._over.is_set())
        self._say(f"ringmt: threads that did not end were left behind; the exit status is {status}\n")
        os._exit(status)

    def _say(self, line: str) -> None:
        """Write to standard error, for which nobody waits longer than a moment: whoever reads it may have stopped."""
        writer = threading.Thread(target=_write, args=(line,), daemon=True)
        writer.start()
        writer.join(POLL_SECONDS)


def _write(line: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, line.encode())

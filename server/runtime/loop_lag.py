"""The delay of the event loop: how late a timer fires."""

import asyncio
import time

PERIOD_SECONDS = 0.05
"""Period of the timer."""
WINDOW_SECONDS = 30.0
"""The longest delay is reported until the end of the window after its own."""


class LoopLag:
    """Measures the event loop that `run` runs in. `longest` may be read from any thread."""

    def __init__(self) -> None:
        self._due: float | None = None
        self._window_start = time.monotonic()
        self._longest = self._previous_longest = 0.0

    async def run(self) -> None:
        """Measure until cancelled."""
        while True:
            self._due = time.monotonic() + PERIOD_SECONDS
            await asyncio.sleep(PERIOD_SECONDS)
            self._record(time.monotonic())

    def _record(self, now: float) -> None:
        delay = 0.0 if self._due is None else max(0.0, now - self._due)
        if now - self._window_start >= WINDOW_SECONDS:
            self._previous_longest, self._longest, self._window_start = self._longest, 0.0, now
        self._longest = max(self._longest, delay)

    @property
    def longest(self) -> float:
        """The longest delay of the last 30 to 60 seconds, in seconds, including a delay that has not ended."""
        due = self._due
        overdue = 0.0 if due is None else max(0.0, time.monotonic() - due)
        return max(self._longest, self._previous_longest, overdue)

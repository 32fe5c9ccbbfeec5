"""How long the event loop was held: the time by which a timer came late."""

import asyncio
import time

PERIOD_SECONDS = 0.05
"""How often the timer runs."""
WINDOW_SECONDS = 30.0
"""What was longest is told for one such window, and the rest of the one that it fell into."""


class LoopLag:
    """Measures the event loop that `run` runs in. `longest` may be read from any thread."""

    def __init__(self) -> None:
        self._due: float | None = None
        self._window_began = time.monotonic()
        self._longest = self._longest_before = 0.0

    async def run(self) -> None:
        """Measure until cancelled."""
        while True:
            self._due = time.monotonic() + PERIOD_SECONDS
            await asyncio.sleep(PERIOD_SECONDS)
            self._note(time.monotonic())

    def _note(self, now: float) -> None:
        late = 0.0 if self._due is None else max(0.0, now - self._due)
        if now - self._window_began >= WINDOW_SECONDS:
            self._longest_before, self._longest, self._window_began = self._longest, 0.0, now
        self._longest = max(self._longest, late)

    @property
    def longest(self) -> float:
        """The longest time in seconds that the loop was held in the last half minute to minute, until this moment."""
        due = self._due
        overdue = 0.0 if due is None else max(0.0, time.monotonic() - due)
        return max(self._longest, self._longest_before, overdue)

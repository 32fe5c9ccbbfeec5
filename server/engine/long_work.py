"""Keeps one of several engines free of long work while people wait for short requests."""

import math

RECENT_SECONDS = 1.0
"""Seconds after a short request in which the next one is expected."""


class LongWork:
    """Counts the engines that do long work: side tasks, and batches of the encoder for other than short requests. None
    of it can be interrupted. Without short requests all engines may do it at the same time. Not thread-safe."""

    def __init__(self) -> None:
        self._num_running = 0
        self._last_short = -math.inf

    def short_arrived(self, now: float) -> None:
        self._last_short = now

    def may_begin(self, num_engines: int, now: float) -> bool:
        """Whether one more of `num_engines` may begin. A lone engine always may."""
        is_one_free = self._num_running < max(1, num_engines - 1)
        return is_one_free or now - self._last_short >= RECENT_SECONDS

    def begin(self) -> None:
        self._num_running += 1

    def end(self) -> None:
        self._num_running -= 1

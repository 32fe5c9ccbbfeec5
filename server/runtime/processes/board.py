"""Memory that the supervisor and all workers see: which worker takes connections, and how many it has."""

import mmap
import time
from collections.abc import Callable

STARTING, OPEN, READY, CLOSING = range(4)
"""States of a worker: it has no event loop yet; it accepts connections but is not ready; it is ready; it accepts no
more."""
_PID, _STATE, _CONNECTIONS, _RECEIVED, _BEAT, _WAS_READY = range(6)
_WORDS = 8
"""Words of 8 bytes for each slot: one line of the processor's cache."""


class Board:
    """A row of numbers for each slot, which has one worker after another. Each number has one writer at a time, and is
    written in one piece. Make it before the workers are forked."""

    def __init__(self, count: int, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self.count, self._clock = count, clock
        self._words = memoryview(mmap.mmap(-1, 8 * _WORDS * count)).cast("q")

    def begin(self, slot: int, pid: int) -> None:
        """A new worker has the slot."""
        for word in range(_WORDS):
            self._words[_WORDS * slot + word] = 0
        self._words[_WORDS * slot + _PID] = pid

    def beat(self, slot: int, state: int) -> None:
        """The worker's event loop runs."""
        self._words[_WORDS * slot + _STATE] = state
        self._words[_WORDS * slot + _BEAT] = self._clock()
        if state == READY:
            self._words[_WORDS * slot + _WAS_READY] = 1

    def state(self, slot: int) -> int:
        return self._words[_WORDS * slot + _STATE]

    def was_ready(self, slot: int) -> bool:
        """Whether the worker has been ready since it began."""
        return bool(self._words[_WORDS * slot + _WAS_READY])

    def pid(self, slot: int) -> int:
        return self._words[_WORDS * slot + _PID]

    def seconds_since_beat(self, slot: int) -> float:
        """Seconds since the worker's last heartbeat; 0 before the first."""
        beat = self._words[_WORDS * slot + _BEAT]
        return (self._clock() - beat) / 1e9 if beat else 0.0

    def count_received(self, slot: int) -> None:
        """The worker took a connection that was passed to it."""
        self._words[_WORDS * slot + _RECEIVED] += 1

    def received(self, slot: int) -> int:
        return self._words[_WORDS * slot + _RECEIVED]

    def set_connections(self, slot: int, number: int) -> None:
        self._words[_WORDS * slot + _CONNECTIONS] = number

    def connections(self, slot: int) -> int:
        """Open connections of the worker."""
        return self._words[_WORDS * slot + _CONNECTIONS]

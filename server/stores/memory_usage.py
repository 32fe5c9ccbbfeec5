"""Counted characters in this process: gone when it ends."""

from collections import Counter as Counting
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from server.stores.usage import Counter


class MemoryUsage:
    """A UsageStore in a dictionary. `locked` is the lock of the store that it belongs to."""

    def __init__(self, locked: Callable[[], AbstractContextManager[None]]) -> None:
        self._locked = locked
        self._counts: Counting[Counter] = Counting()
        self._batches: dict[str, int] = {}
        self._version = 0

    def add(self, writer: str, batch: int, counts: Mapping[Counter, int]) -> None:
        with self._locked():
            if self._batches.get(writer, -1) >= batch:
                return
            self._batches[writer] = batch
            self._version += 1
            for counter, number in counts.items():
                self._counts[counter] = max(0, self._counts[counter] + number)

    def version(self) -> str:
        return str(self._version)

    def read(self, periods: tuple[str, ...]) -> dict[Counter, int]:
        with self._locked():
            return {counter: number for counter, number in self._counts.items() if counter.period in periods and number}

    def forget(self, before_day: str, before_month: str) -> None:
        with self._locked():
            for counter in list(self._counts):
                if counter.period < (before_month if len(counter.period) == len(before_month) else before_day):
                    del self._counts[counter]

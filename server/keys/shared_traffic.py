"""The requests and characters of keys, counted together by all processes of a server.

A row for each name: when its bucket was filled last and with how many tokens; and of each process its requests in work,
and the characters that it has counted in a day and a month, all and those that the store has."""

import contextlib
import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from server.keys.key import CountedTraffic, Traffic, check_concurrency, check_rate, filled
from server.keys.record import KeyLimits
from server.runtime.processes.shared_rows import FileLock, SharedRows
from server.stores.usage import Counter

logger = logging.getLogger("ringmt")

_IS_FILLED, _TOKENS, _FILLED = range(3)
COMMON_WORDS = 3
_IN_WORK = 0
_DAY, _MONTH = 1, 4
"""Where three words begin: the period, characters counted in it, and those of them that the store has."""
OWN_WORDS = 7


class SharedTraffic:
    """The requests of one name, of all processes."""

    def __init__(self, rows: SharedRows, row: int, slot: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rows, self._row, self._slot, self._clock = rows, row, slot, clock

    @property
    def in_work(self) -> int:
        places = (self._rows.own(self._row, slot) + _IN_WORK for slot in range(self._rows.count))
        return sum(self._rows.integers[place] for place in places)

    def enter(self, limits: KeyLimits, is_work: bool) -> None:
        """Count a request; one that `is_work` counts until `release`. Raises LimitReached, then nothing is counted."""
        with self._rows.locked():
            if is_work:
                check_concurrency(limits, self.in_work)
            if limits.rate is not None:
                self._take_token(limits.rate)
            if is_work:
                self._rows.integers[self._rows.own(self._row, self._slot) + _IN_WORK] += 1

    def _take_token(self, rate: float) -> None:
        integers, floats, row, now = self._rows.integers, self._rows.floats, self._row, self._clock()
        tokens = floats[row + _TOKENS] if integers[row + _IS_FILLED] else math.inf
        tokens = filled(tokens, rate, max(0.0, now - floats[row + _FILLED]))
        integers[row + _IS_FILLED], floats[row + _TOKENS], floats[row + _FILLED] = 1, tokens, now
        check_rate(rate, tokens)
        floats[row + _TOKENS] = tokens - 1

    def release(self) -> None:
        """End a request that counts as work."""
        with self._rows.locked():
            self._rows.integers[self._rows.own(self._row, self._slot) + _IN_WORK] -= 1


def new_traffic(rows: SharedRows, slot: int) -> Callable[[str], CountedTraffic]:
    """A function that makes the traffic of a name. When all rows are taken, a name counts in each process by itself."""

    def traffic(name: str) -> CountedTraffic:
        with rows.locked():
            row = rows.find(name)
        if row is None:
            logger.warning("more names of keys than a server's processes share: limits of '%s' are each one's", name)
            return Traffic()
        return SharedTraffic(rows, row, slot)

    return traffic


def forget_work(rows: SharedRows, slot: int) -> None:
    """The process of this slot has ended: it has nothing in work, and the characters that it did not store are lost, as
    with a server that is killed."""
    with rows.locked():
        for row in rows.rows():
            own = rows.own(row, slot)
            rows.integers[own + _IN_WORK] = 0
            for start in (own + _DAY, own + _MONTH):
                rows.integers[start + 1] = rows.integers[start + 2]


class SharedUsage:
    """What the processes count in a day and a month (see OtherProcesses)."""

    def __init__(self, rows: SharedRows, slot: int, sync_lock: Path) -> None:
        self._rows, self._slot, self._lock = rows, slot, FileLock(sync_lock)
        self._places: dict[str, int | None] = {}
        """Owner -> its row."""
        self._known: dict[tuple[str, int], int] = {}
        """(Period, place of a process' words) -> characters that the store had of it, when it was read last."""

    @contextlib.contextmanager
    def counting(self) -> Iterator[None]:
        with self._rows.locked():
            yield

    @contextlib.contextmanager
    def syncing(self) -> Iterator[None]:
        self._lock.acquire()
        try:
            yield
        finally:
            self._lock.release()

    def add(self, counter: Counter, num_chars: int) -> None:
        place = self._place(counter, self._slot)
        if place is None:
            return
        integers, period = self._rows.integers, _number(counter.period)
        if integers[place] < period:  # a new day; what is taken back of the one before stays in this process
            integers[place], integers[place + 1], integers[place + 2] = period, 0, 0
        if integers[place] == period:
            integers[place + 1] += num_chars

    def counted(self, counter: Counter) -> int:
        total, integers, period = 0, self._rows.integers, _number(counter.period)
        for slot in range(self._rows.count):
            place = self._place(counter, slot)
            if slot != self._slot and place is not None and integers[place] == period:
                total += integers[place + 1] - self._known.get((counter.period, place), 0)
        return total

    def stored(self, counts: Mapping[Counter, int]) -> None:
        integers = self._rows.integers
        for counter, num_chars in counts.items():
            place = self._place(counter, self._slot)
            if place is not None and integers[place] == _number(counter.period):
                integers[place + 2] += num_chars

    def read(self) -> None:
        self._known = {}
        for row in self._rows.rows():
            for slot in range(self._rows.count):
                own = self._rows.own(row, slot)
                for place in (own + _DAY, own + _MONTH):
                    number = self._rows.integers[place]
                    if number:
                        self._known[_period(number), place] = self._rows.integers[place + 2]

    def _place(self, counter: Counter, slot: int) -> int | None:
        if counter.owner not in self._places:
            self._places[counter.owner] = self._rows.find(counter.owner)
        row = self._places[counter.owner]
        return None if row is None else self._rows.own(row, slot) + (_DAY if _is_day(counter.period) else _MONTH)


def _is_day(period: str) -> bool:
    return period.count("-") == 2


def _number(period: str) -> int:
    """`2026-11-26` as 20261126, `2026-11` as 202611: later periods have larger numbers."""
    return int(period.replace("-", ""))


def _period(number: int) -> str:
    text = str(number)
    parts = (text[:4], text[4:6], *([text[6:]] if len(text) > 6 else []))
    return "-".join(parts)

"""How many characters each key has used in a day and a month, and whether it may use more.

A request counts in memory; a thread adds what was counted to the store and reads what other servers have added, every
second (see server.keys.key_thread). One server alone never exceeds a quota. Of several, each knows what the others
accepted until a second ago (longer while the store is away), so together they exceed a quota by what the others accept
in that time, and never by more than what was left, times the number of other servers. Processes of one server share
what they count, and are as one.
"""

import contextlib
import threading
import time
import uuid
from calendar import timegm
from collections import Counter as Counting
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple, Protocol

from server.keys.record import KeyLimits
from server.stores.usage import Counter, UsageStore

DAYS_KEPT, MONTHS_KEPT = 62, 25
"""For how long the store keeps counters."""


class QuotaReached(Exception):
    """The characters of a request are more than the key has left. `seconds` until its next day or month."""

    def __init__(self, message: str, seconds: int) -> None:
        super().__init__(message)
        self.seconds = seconds


class Periods(NamedTuple):
    """A day and its month, in UTC, as a store names them."""

    day: str
    month: str

    @classmethod
    def at(cls, seconds: float) -> "Periods":
        """`seconds` since 1970."""
        return _periods_of_day(int(seconds // 86400))

    @property
    def ends(self) -> tuple[int, int]:
        """When the day and the month end, in seconds since 1970."""
        year, month, day = map(int, self.day.split("-"))
        next_month = (year + month // 12, month % 12 + 1, 1)
        return timegm((year, month, day, 0, 0, 0)) + 86400, timegm((*next_month, 0, 0, 0))


@lru_cache(maxsize=2)
def _periods_of_day(number: int) -> Periods:
    now = time.gmtime(number * 86400)
    month = f"{now.tm_year:04}-{now.tm_mon:02}"
    return Periods(f"{month}-{now.tm_mday:02}", month)


class Used(NamedTuple):
    """Characters of the present day and month."""

    day: int = 0
    month: int = 0


@dataclass(eq=False)
class Charge:
    """What a request was counted for. `counters`: of its day and month."""

    counters: tuple[Counter, ...]
    num_chars: int
    is_refunded: bool = False


class OtherProcesses(Protocol):
    """What the other processes of this server count; see server.keys.shared_usage."""

    def counting(self) -> AbstractContextManager[None]:
        """A block in which no other process counts."""
        ...

    def add(self, counter: Counter, num_chars: int) -> None:
        """This process counted characters, or took some back. Within `counting`."""
        ...

    def counted(self, counter: Counter) -> int:
        """Characters that others counted since this process has read the store. Within `counting`."""
        ...

    def syncing(self) -> AbstractContextManager[None]:
        """No other process adds to the store or reads it. May take as long as others need for that."""
        ...

    def stored(self, counts: Mapping[Counter, int]) -> None:
        """The store has these characters that this process counted. Within `syncing` and `counting`."""
        ...

    def read(self) -> None:
        """This process has read the store. Within `syncing` and `counting`."""
        ...


class CharacterUsage:
    """Counts characters. Safe to use from several threads; `sync` from one. `clock` gives seconds since 1970."""

    def __init__(self, clock: Callable[[], float] = time.time, others: OtherProcesses | None = None) -> None:
        self._clock, self._others = clock, others
        self._lock = threading.Lock()
        self._stored: Mapping[Counter, int] = {}
        """What the store had, when it was read last."""
        self._pending: Counting[Counter] = Counting()
        """What it does not have yet."""
        self._sending: Counting[Counter] = Counting()
        """What is being added to it; still here after a failure, and then sent again as the same batch."""
        self._writer, self._batch = uuid.uuid4().hex, 0
        self._read: tuple[Periods, str] | None = None
        """The periods that were read from the store last, and its version then."""
        self._forgotten = ""
        """The day on which old counters were deleted."""

    def charge(self, owner: str, limits: KeyLimits, num_chars: int) -> Charge:
        """Count characters of a request. Raises QuotaReached, then nothing is counted."""
        now = self._clock()
        periods = Periods.at(now)
        counters = Counter(owner, periods.day), Counter(owner, periods.month)
        with self._counting():
            for place, limit in ((1, limits.chars_per_month), (0, limits.chars_per_day)):
                if limit is not None and num_chars and self._used(counters[place]) + num_chars > limit:
                    message = _message(self._used(counters[place]), limit, ("day", "month")[place], num_chars)
                    raise QuotaReached(message, max(1, round(periods.ends[place] - now)))
            for counter in counters:
                self._count(counter, num_chars)
        return Charge(counters, num_chars)

    def refund(self, charge: Charge) -> None:
        """Take back a charge, whose request was not answered. Idempotent."""
        with self._counting():
            if not charge.is_refunded:
                charge.is_refunded = True
                for counter in charge.counters:
                    self._count(counter, -charge.num_chars)

    def used(self, owner: str) -> Used:
        """The characters that an owner has used, as far as this process knows."""
        periods = self.periods
        with self._counting():
            return Used(*(max(0, self._used(Counter(owner, period))) for period in periods))

    @property
    def owners(self) -> set[str]:
        """Owners who used something in the present day or month."""
        with self._lock:
            return {counter.owner for counts in (self._stored, self._sending, self._pending) for counter in counts}

    @property
    def periods(self) -> Periods:
        """The present day and month."""
        return Periods.at(self._clock())

    @contextlib.contextmanager
    def _counting(self) -> Iterator[None]:
        """A block in which no other thread or process changes the counters."""
        with self._lock, nullcontext() if self._others is None else self._others.counting():
            yield

    def _count(self, counter: Counter, num_chars: int) -> None:
        self._pending[counter] = self._pending.get(counter, 0) + num_chars
        if self._others is not None:
            self._others.add(counter, num_chars)

    def _used(self, counter: Counter) -> int:
        here = self._stored.get(counter, 0) + self._sending.get(counter, 0) + self._pending.get(counter, 0)
        return here if self._others is None else here + self._others.counted(counter)

    def sync(self, store: UsageStore) -> None:
        """Add to the store what was counted, and read what it has. Raises StoreError: then nothing is lost, and the
        next call sends it again."""
        with nullcontext() if self._others is None else self._others.syncing():
            self._sync(store)

    def _sync(self, store: UsageStore) -> None:
        with self._lock:
            if not self._sending:
                self._pending, self._sending = Counting(), self._pending
                self._batch += 1
        if any(self._sending.values()):
            store.add(self._writer, self._batch, {counter: n for counter, n in self._sending.items() if n})
        with self._counting():  # if the store cannot be read now, they count as stored all the same
            if self._others is not None:
                self._others.stored(self._sending)
            self._stored = Counting(self._stored)
            self._stored.update(self._sending)
            self._sending = Counting()
        periods, version = self.periods, store.version()
        if (periods, version) != self._read:
            stored = store.read(periods)
            with self._counting():
                self._stored = stored
                if self._others is not None:
                    self._others.read()
            self._read = periods, version
        if self._forgotten != periods.day:
            store.forget(*_oldest(self._clock()))
            self._forgotten = periods.day


def _message(used: int, limit: int, period: str, num_chars: int) -> str:
    return (
        f"this key may translate {limit} characters a {period} (UTC) and has used {used}; this request has {num_chars}"
    )


def _oldest(now: float) -> Periods:
    """The first day and the first month that are kept."""
    today = datetime.fromtimestamp(now, UTC)
    month = today.year * 12 + today.month - 1 - MONTHS_KEPT
    day = (today - timedelta(days=DAYS_KEPT)).date().isoformat()
    return Periods(day, f"{month // 12:04}-{month % 12 + 1:02}")

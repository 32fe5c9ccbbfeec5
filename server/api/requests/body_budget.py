"""Limits on the bytes of request bodies that are read or held at the same time, in all and per owner."""

import asyncio
import contextlib
import time
from collections import Counter, deque
from collections.abc import AsyncIterator

from server.api.requests.errors import ApiError

WAIT_SECONDS = 1.0
"""Seconds that a body waits for free bytes before its request is refused."""
MOST_WAITING = 64
"""Bodies that wait for free bytes; each may have a few hundred kilobytes in the buffers of its connection."""
SLOW_SECONDS = 5.0
"""Seconds after which an incomplete body is aborted if another body needs its bytes."""
OWNER_SHARE, UNKNOWN_SHARE = 1 / 2, 1 / 4
"""Shares of the limit: of one key, and of all requests together whose key is not known before their body is read."""
EVERYBODY = ""
"""The owner of all bodies on a server without keys."""


class BodyBudget:
    """At most `limit` bytes of bodies, and of one owner a share of them, which is never smaller than the `largest`
    body. Use it from one event loop."""

    def __init__(self, limit: int, largest: int) -> None:
        self.limit, self.largest = max(limit, largest), largest
        self.num_bytes = 0
        self._by_owner: Counter[str | None] = Counter()
        self._reading: dict[BodyReservation, None] = {}
        """Bodies that are not complete, oldest first."""
        self._waiting: deque[asyncio.Future[None]] = deque()

    def begin(self, owner: str | None) -> "BodyReservation":
        """A body of which nothing has been read; `owner` None: not known before the body has been read. Call its
        `release` at the end of the request."""
        body = BodyReservation(self, owner)
        self._reading[body] = None
        return body

    def fits(self, owner: str | None, size: int) -> bool:
        """Whether `size` more bytes are within the limits."""
        return self.num_bytes + size <= self.limit and self._by_owner[owner] + size <= self._share(owner)

    def _share(self, owner: str | None) -> int:
        if owner == EVERYBODY:
            return self.limit
        return max(self.largest, int(self.limit * (UNKNOWN_SHARE if owner is None else OWNER_SHARE)))

    def _count(self, owner: str | None, size: int) -> None:
        """Add `size` bytes, which may be negative."""
        self.num_bytes += size
        self._by_owner[owner] += size
        if not self._by_owner[owner]:
            del self._by_owner[owner]
        if size < 0:
            self._wake()

    def _wake(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    def _abort_slow(self, owner: str | None, size: int) -> None:
        """Abort slow bodies, the oldest first, until `size` bytes will fit: those of the owner if its share is used
        up."""
        owner_excess = self._by_owner[owner] + size - self._share(owner)
        missing = max(owner_excess, self.num_bytes + size - self.limit)
        for body in list(self._reading):
            if missing <= 0 or time.monotonic() - body.began < SLOW_SECONDS:
                return
            if owner_excess <= 0 or body.owner == owner:
                body.abort()
                missing -= body.size

    def _seconds_until_slow(self) -> float:
        """Until the next body that is read becomes slow; 0 if none will."""
        ages = (time.monotonic() - body.began for body in self._reading)
        return next((SLOW_SECONDS - age for age in ages if age < SLOW_SECONDS), 0.0)

    async def wait_for(self, owner: str | None, size: int) -> None:
        """Return when `size` bytes fit. Raises ApiError (429)."""
        until = time.monotonic() + WAIT_SECONDS
        while not self.fits(owner, size):
            self._abort_slow(owner, size)
            left = until - time.monotonic()
            if left <= 0 or len(self._waiting) >= MOST_WAITING:
                raise ApiError("overloaded", "too many bytes of other requests are being read; try again later")
            freed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(freed)
            try:
                await asyncio.wait((freed,), timeout=min(left, self._seconds_until_slow() or left))
            finally:
                self._waiting.remove(freed)


class BodyReservation:
    """The bytes of one body that are read or held."""

    def __init__(self, budget: BodyBudget, owner: str | None) -> None:
        self.budget = budget
        self.owner, self.size, self.began = owner, 0, time.monotonic()
        self._timeout: asyncio.Timeout | None = None

    @contextlib.asynccontextmanager
    async def being_read(self) -> AsyncIterator[None]:
        """A context for reading, which `abort` may end with ApiError (429). At its end the body is complete."""
        try:
            async with asyncio.timeout(None) as self._timeout:
                yield
        except TimeoutError:
            message = f"the body took longer than {SLOW_SECONDS:g} seconds while other requests waited for its bytes"
            raise ApiError("overloaded", message) from None
        finally:
            self._timeout = None
            self.budget._reading.pop(self, None)

    def abort(self) -> None:
        """End the reading of this body."""
        if self._timeout is not None and self._timeout.when() is None:
            self._timeout.reschedule(0)

    async def grow(self, size: int) -> None:
        """Wait until `size` more bytes fit, and count them. Raises ApiError (429)."""
        if not self.budget.fits(self.owner, size):
            await self.budget.wait_for(self.owner, size)
        self.size += size
        self.budget._count(self.owner, size)

    def belongs_to(self, owner: str) -> None:
        """Set the owner, which is known now."""
        self.budget._count(self.owner, -self.size)
        self.owner = owner
        self.budget._count(owner, self.size)

    def drop(self) -> None:
        """Count the body as empty: its bytes were discarded."""
        self.budget._count(self.owner, -self.size)
        self.size = 0

    def release(self) -> None:
        """The body is no longer held. Idempotent."""
        self.budget._reading.pop(self, None)
        self.drop()

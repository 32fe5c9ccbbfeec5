"""Room for the bodies of requests: how many bytes of them are read or held at the same time, in all and per owner."""

import asyncio
import contextlib
import time
from collections import Counter, deque
from collections.abc import AsyncIterator

from server.api.requests.errors import ApiError

WAIT_SECONDS = 1.0
"""How long a body waits for room before its request is refused."""
MOST_WAITING = 64
"""Bodies that wait for room; each may have a few hundred kilobytes in the buffers of its connection."""
SLOW_SECONDS = 5.0
"""A body that is not complete after this time gives way when another needs its room."""
OWNER_SHARE, UNKNOWN_SHARE = 1 / 2, 1 / 4
"""What one key may take of all room, and what requests may take together whose key is still looked for in the body."""
EVERYBODY = ""
"""The owner of all bodies on a server without keys."""


class BodyBudget:
    """Room for `limit` bytes of bodies, of which one owner may take a share, which is never smaller than the `largest`
    body. Use it from one event loop."""

    def __init__(self, limit: int, largest: int) -> None:
        self.limit, self.largest = max(limit, largest), largest
        self.num_bytes = 0
        self._by_owner: Counter[str | None] = Counter()
        self._reading: dict[BodyReservation, None] = {}
        """Bodies that are not complete, oldest first."""
        self._waiting: deque[asyncio.Future[None]] = deque()

    def begin(self, owner: str | None) -> "BodyReservation":
        """A body of which nothing has been read; None: its owner is not known before it has been read. Call its
        `release` when the request is over."""
        body = BodyReservation(self, owner)
        self._reading[body] = None
        return body

    def fits(self, owner: str | None, size: int) -> bool:
        """Whether there is room for `size` more bytes."""
        return self.num_bytes + size <= self.limit and self._by_owner[owner] + size <= self._share(owner)

    def _share(self, owner: str | None) -> int:
        if owner == EVERYBODY:
            return self.limit
        return max(self.largest, int(self.limit * (UNKNOWN_SHARE if owner is None else OWNER_SHARE)))

    def _count(self, owner: str | None, size: int) -> None:
        """Count bytes in, or out where `size` is negative."""
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

    def _give_way(self, owner: str | None, size: int) -> None:
        """End slow bodies, the oldest first, until `size` bytes will have room: where the owner's share is full, those
        of the owner."""
        own = self._by_owner[owner] + size - self._share(owner)
        missing = max(own, self.num_bytes + size - self.limit)
        for body in list(self._reading):
            if missing <= 0 or time.monotonic() - body.began < SLOW_SECONDS:
                return
            if own <= 0 or body.owner == owner:
                body.give_up()
                missing -= body.size

    async def wait_for(self, owner: str | None, size: int) -> None:
        """Return when `size` bytes fit. Raises ApiError (429)."""
        give_up = time.monotonic() + WAIT_SECONDS
        while not self.fits(owner, size):
            self._give_way(owner, size)
            left = give_up - time.monotonic()
            if left <= 0 or len(self._waiting) >= MOST_WAITING:
                raise ApiError("overloaded", "too many bytes of other requests are being read; try again later")
            freed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(freed)
            try:
                await asyncio.wait((freed,), timeout=left)
            finally:
                self._waiting.remove(freed)


class BodyReservation:
    """The bytes of one body that count as read or held."""

    def __init__(self, room: BodyBudget, owner: str | None) -> None:
        self.room = room
        self.owner, self.size, self.began = owner, 0, time.monotonic()
        self._patience: asyncio.Timeout | None = None

    @contextlib.asynccontextmanager
    async def being_read(self) -> AsyncIterator[None]:
        """Around the reading, which `give_up` may end with ApiError (429). Afterwards the body is complete."""
        try:
            async with asyncio.timeout(None) as self._patience:
                yield
        except TimeoutError:
            message = f"the body took longer than {SLOW_SECONDS:g} seconds while others waited for its room"
            raise ApiError("overloaded", message) from None
        finally:
            self._patience = None
            self.room._reading.pop(self, None)

    def give_up(self) -> None:
        """End the reading of this body."""
        if self._patience is not None and self._patience.when() is None:
            self._patience.reschedule(0)

    async def grow(self, size: int) -> None:
        """Count `size` more bytes, when there is room for them. Raises ApiError (429)."""
        if not self.room.fits(self.owner, size):
            await self.room.wait_for(self.owner, size)
        self.size += size
        self.room._count(self.owner, size)

    def belongs_to(self, owner: str) -> None:
        """Count it as `owner`'s, now that its owner is known."""
        self.room._count(self.owner, -self.size)
        self.owner = owner
        self.room._count(owner, self.size)

    def drop(self) -> None:
        """Count it as empty: what was read is not kept."""
        self.room._count(self.owner, -self.size)
        self.size = 0

    def release(self) -> None:
        """Nothing of it is held any more. It may be called again."""
        self.room._reading.pop(self, None)
        self.drop()

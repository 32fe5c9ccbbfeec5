"""Room for the files of clients: while they are translated, and after that until they are fetched."""

import asyncio
import hmac
import secrets
from collections import deque
from dataclasses import dataclass, field
from types import TracebackType

from server.api.requests.errors import ApiError
from server.scheduling.shared_budget import SharedBudget

RETRY_AFTER = {"Retry-After": "5"}
UNKNOWN = "it never existed, was fetched or replaced by newer ones of its owner, or its time is over"


@dataclass(frozen=True)
class FinishedFile:
    """`num_characters`: of what was translated."""

    data: bytes
    name: str
    media_type: str
    num_characters: int = 0


@dataclass(eq=False)
class FileReservation:
    """The room of one file: of its upload, later of its translation. Leaving a `with` block gives it back, unless
    somebody else does that by now (`is_kept`)."""

    files: "FinishedFiles"
    owner: str
    num_bytes: int
    id: str = field(default_factory=lambda: secrets.token_hex(16).upper())
    key: str | None = field(default_factory=lambda: secrets.token_hex(32).upper())
    """Who has both may fetch the file; None: who has the id."""
    is_kept: bool = False
    outcome: FinishedFile | ApiError | None = None
    """The translated file, or why there is none; None as long as nobody knows."""
    expiry: asyncio.TimerHandle | None = None

    def __enter__(self) -> "FileReservation":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.is_kept:
            self.files.remove(self)


class FinishedFiles:
    """At most `max_files` files of an owner, with `max_bytes` together (see `SharedBudget`). A finished file is kept
    for `seconds`, or until its owner sends a new one that has no room otherwise: then the owner's oldest finished
    file goes. Nothing goes for somebody else's file. Use it from one event loop."""

    def __init__(self, max_files: int, max_bytes: int, seconds: float) -> None:
        self._number, self._bytes, self._seconds = SharedBudget(max_files), SharedBudget(max_bytes), seconds
        self._rooms: dict[str, FileReservation] = {}
        """By id. Those that are finished are in the order in which they were finished."""

    @property
    def num_bytes(self) -> int:
        """Of all uploads and translations."""
        return self._bytes.total

    @property
    def num_files(self) -> int:
        return len(self._rooms)

    def admit(self, owner: str, num_bytes: int) -> FileReservation:
        """Room for a file that was sent, and for its translation. Raises ApiError: 429, and 413 for a file that is
        larger than all room that its owner may have."""
        num_bytes = max(1, num_bytes)
        if num_bytes > self._bytes.limit:
            message = f"the file has {num_bytes} bytes, at most {self._bytes.limit} are kept of all files"
            raise ApiError("too_large", message, "file")
        finished = deque(one for one in self._rooms.values() if one.owner == owner and one.outcome is not None)
        if not self._fits(owner, 1 - len(finished), num_bytes - sum(one.num_bytes for one in finished)):
            raise ApiError("overloaded", "too many files are being translated; try again later", None, RETRY_AFTER)
        while not self._fits(owner, 1, num_bytes):
            self.remove(finished.popleft())
        room = FileReservation(self, owner, num_bytes)
        self._rooms[room.id] = room
        self._number.acquire(owner, 1)
        self._bytes.acquire(owner, num_bytes)
        return room

    def _fits(self, owner: str, count: int, num_bytes: int) -> bool:
        return self._number.fits(owner, count) and self._bytes.fits(owner, num_bytes)

    def keep(self, room: FileReservation, outcome: FinishedFile | ApiError, file_id: str | None = None) -> None:
        """Keep what became of a file: for who has its id and key, or, if a `file_id` is given, for who has that. It has
        room, however large it is."""
        del self._rooms[room.id]
        if file_id is not None:
            room.id, room.key = file_id, None
        room.outcome, room.is_kept = outcome, True
        self._rooms[room.id] = room
        self._bytes.release(room.owner, room.num_bytes)
        room.num_bytes = max(1, len(outcome.data)) if isinstance(outcome, FinishedFile) else 1
        self._bytes.acquire(room.owner, room.num_bytes)
        room.expiry = asyncio.get_running_loop().call_later(self._seconds, self.remove, room)

    def find(self, file_id: str, key: str) -> FileReservation:
        """Raises ApiError (404) for an unknown id and for a wrong key alike."""
        room = self._rooms.get(file_id.upper())
        known = "" if room is None or room.key is None else room.key
        is_right = hmac.compare_digest(known.encode(), key.upper().encode("utf-8", "replace"))
        if room is None or not known or not is_right:
            raise ApiError("not_found", f"Document not found: it has another document_key, or {UNKNOWN}")
        return room

    def get(self, file_id: str) -> FinishedFile:
        """A finished file without a key. Raises ApiError (404)."""
        room = self._rooms.get(file_id)
        if room is None or room.key is not None or not isinstance(room.outcome, FinishedFile):
            raise ApiError("not_found", f"there is no such file: {UNKNOWN}")
        return room.outcome

    def remove(self, room: FileReservation) -> None:
        """Give back the room of a file; no effect if that was done."""
        if self._rooms.get(room.id) is not room:
            return
        del self._rooms[room.id]
        self._number.release(room.owner, 1)
        self._bytes.release(room.owner, room.num_bytes)
        if room.expiry is not None:
            room.expiry.cancel()

"""The files of clients: reserved bytes while a file is translated, and its result until the client fetches it."""

import asyncio
import contextlib
import hmac
import secrets
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType, TracebackType

from server.api.requests.errors import ApiError
from server.api.serving.file_counts import BYTES, NUMBER, SharedFileCounts
from server.api.serving.file_progress import FileProgress
from server.files.doubtful import Doubtful
from server.files.file_translation import TranslatedFile
from server.scheduling.shared_budget import SharedBudget

ID_BYTES = 16
RETRY_AFTER = {"Retry-After": "5"}
UNKNOWN = "it never existed, was fetched or replaced by newer ones of its owner, or its time is over"


@dataclass(frozen=True)
class FinishedFile:
    """`num_characters`: of what was translated. `headers` of the answer that has the file. `notes`, `flags` and
    `doubtful` are those of TranslatedFile."""

    data: bytes
    name: str
    media_type: str
    num_characters: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    flags: Mapping[str, int] = field(default_factory=dict)
    doubtful: Doubtful = field(default_factory=Doubtful)

    @classmethod
    def of(cls, done: TranslatedFile, headers: Mapping[str, str] = MappingProxyType({})) -> "FinishedFile":
        return cls(
            done.data,
            done.name,
            done.media_type,
            done.num_characters,
            headers=headers,
            notes=done.notes,
            flags=done.flags,
            doubtful=done.doubtful,
        )

    @property
    def remarks(self) -> list[str]:
        """The notes, and the sentences that look wrong, for answers that have one list for both."""
        return [*self.notes, *self.doubtful.notes()]


@dataclass(eq=False)
class FileReservation:
    """The reserved bytes of one file: of its upload, later of its translation. The end of a `with` block releases them,
    unless the file is kept (`is_kept`)."""

    files: "FinishedFiles"
    owner: str
    num_bytes: int
    id: str
    key: str | None = field(default_factory=lambda: secrets.token_hex(32).upper())
    """Needed with the id to fetch the file; None: the id is enough."""
    is_kept: bool = False
    outcome: FinishedFile | ApiError | None = None
    """The translated file, or why there is none; None until the translation has ended."""
    finished_at: float = 0.0
    """A time.monotonic() value, once there is an outcome."""
    expiry: asyncio.TimerHandle | None = None
    link: str | None = None
    """What the finished file is kept under, if it is to be fetched without a key."""
    progress: FileProgress = field(default_factory=FileProgress)

    def __enter__(self) -> "FileReservation":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.is_kept:
            self.files.remove(self)


class FinishedFiles:
    """At most `max_files` files of an owner, with `max_bytes` together (see `SharedBudget`). A finished file is kept
    for `seconds`, or until it is the oldest finished file of its owner and the owner's next file does not fit
    otherwise. A file is never removed for another owner's. Use it from one event loop."""

    def __init__(
        self, max_files: int, max_bytes: int, seconds: float, id_start: str = "", shared: SharedFileCounts | None = None
    ) -> None:
        """`id_start`: how ids begin, two digits for one byte. `shared`: counts of all processes of the server."""
        self._id_start, self._seconds = id_start, seconds
        if shared is None:
            self._number, self._bytes = SharedBudget(max_files), SharedBudget(max_bytes)
        else:
            self._number, self._bytes = (shared.budget(*each) for each in ((max_files, NUMBER), (max_bytes, BYTES)))
        self._locked = contextlib.nullcontext if shared is None else shared.locked
        self._reservations: dict[str, FileReservation] = {}
        """Files by id; finished ones are in the order in which they were finished."""
        self._links: dict[str, FileReservation] = {}

    @property
    def num_bytes(self) -> int:
        """Bytes of all uploads and translations."""
        return self._bytes.total

    @property
    def num_files(self) -> int:
        return len(self._reservations)

    def admit(self, owner: str, num_bytes: int) -> FileReservation:
        """Reserve bytes for an upload and later its translation. Raises ApiError: 429, and 413 for a file that is
        larger than the limit of all files."""
        num_bytes = max(1, num_bytes)
        if num_bytes > self._bytes.limit:
            message = f"the file has {num_bytes} bytes, at most {self._bytes.limit} of all files (--max-files-bytes)"
            raise ApiError("too_large", message, "file")
        with self._locked():
            finished = self._finished(owner)
            if not self._fits(owner, 1 - len(finished), num_bytes - sum(file.num_bytes for file in finished)):
                raise ApiError("overloaded", "too many files are being translated; try again later", None, RETRY_AFTER)
            while not self._fits(owner, 1, num_bytes):
                self._remove(finished.popleft())
            file_id = self._id_start + secrets.token_hex(ID_BYTES - len(self._id_start) // 2).upper()
            reservation = FileReservation(self, owner, num_bytes, file_id)
            self._reservations[reservation.id] = reservation
            self._number.acquire(owner, 1)
            self._bytes.acquire(owner, num_bytes)
        return reservation

    def _finished(self, owner: str) -> deque[FileReservation]:
        """The oldest first."""
        return deque(file for file in self._reservations.values() if file.owner == owner and file.outcome is not None)

    def _fits(self, owner: str, count: int, num_bytes: int) -> bool:
        return self._number.fits(owner, count) and self._bytes.fits(owner, num_bytes)

    def fits(self, owner: str, count: int, num_bytes: int) -> bool:
        """Whether the owner may have `count` more files, of so many bytes."""
        with self._locked():
            return self._fits(owner, count, num_bytes)

    def finished(self, owner: str) -> list[tuple[float, int]]:
        """When each finished file of the owner was finished, a time.monotonic() value, and its bytes; the oldest
        first."""
        return [(file.finished_at, file.num_bytes) for file in self._finished(owner)]

    def forget(self, owner: str, until: float) -> None:
        """Remove the owner's files that were finished at that time or before."""
        for file in self._finished(owner):
            if file.finished_at <= until:
                self.remove(file)

    def keep(self, reservation: FileReservation, outcome: FinishedFile | ApiError, file_id: str | None = None) -> None:
        """Keep the outcome of a file under its id and key, or, if given, under `file_id` alone. A translation is kept
        whatever its size."""
        del self._reservations[reservation.id]
        if file_id is not None:
            reservation.id, reservation.key = file_id, None
        reservation.outcome, reservation.is_kept = outcome, True
        if isinstance(outcome, FinishedFile):
            reservation.progress.finish()
        self._reservations[reservation.id] = reservation
        before, reservation.finished_at = reservation.num_bytes, time.monotonic()
        reservation.num_bytes = max(1, len(outcome.data)) if isinstance(outcome, FinishedFile) else 1
        with self._locked():
            self._bytes.release(reservation.owner, before)
            self._bytes.acquire(reservation.owner, reservation.num_bytes)
        reservation.expiry = asyncio.get_running_loop().call_later(self._seconds, self.remove, reservation)

    def find(self, file_id: str, key: str) -> FileReservation:
        """Raises ApiError (404) for an unknown id and for a wrong key alike."""
        reservation = self._reservations.get(file_id.upper())
        known = "" if reservation is None or reservation.key is None else reservation.key
        is_right = hmac.compare_digest(known.encode(), key.upper().encode("utf-8", "replace"))
        if reservation is None or not known or not is_right:
            raise ApiError("not_found", f"Document not found: it has another document_key, or {UNKNOWN}")
        return reservation

    def of_owner(self, file_id: str, owner: str) -> FileReservation:
        """A file of this owner. Raises ApiError (404)."""
        reservation = self._reservations.get(file_id.upper())
        if reservation is None or reservation.key is None or reservation.owner != owner:
            raise ApiError("not_found", f"there is no such file: {UNKNOWN}")
        return reservation

    def get(self, file_id: str) -> FinishedFile:
        """A finished file without a key. Raises ApiError: 404, 503 before it is translated, and the error of a file
        that failed."""
        reservation = self._links.get(file_id) or self._reservations.get(file_id)
        if reservation is None or (reservation.key is not None and reservation.link != file_id):
            raise ApiError("not_found", f"there is no such file: {UNKNOWN}")
        if reservation.outcome is None:
            raise ApiError("not_ready", "the file is not translated yet; try again later", None, RETRY_AFTER)
        if isinstance(reservation.outcome, ApiError):
            raise reservation.outcome
        return reservation.outcome

    def new_link(self, name: str) -> str:
        """What a file of that name can be fetched under without a key; nobody can guess it."""
        return f"{self._id_start}{secrets.token_urlsafe(18)}.{name}"

    def link(self, reservation: FileReservation, file_id: str) -> None:
        """Let the file be fetched under `file_id` without a key, as soon as it is translated."""
        reservation.link = file_id
        self._links[file_id] = reservation

    def remove(self, reservation: FileReservation) -> None:
        """Remove a file and release its bytes. Idempotent."""
        with self._locked():
            self._remove(reservation)

    def _remove(self, reservation: FileReservation) -> None:
        if self._reservations.get(reservation.id) is not reservation:
            return
        del self._reservations[reservation.id]
        if reservation.link is not None:
            del self._links[reservation.link]
        self._number.release(reservation.owner, 1)
        self._bytes.release(reservation.owner, reservation.num_bytes)
        if reservation.expiry is not None:
            reservation.expiry.cancel()

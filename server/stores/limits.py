"""Limits of what is stored, for one owner and for all owners: documents, open documents (queued or running), and bytes.

A document's bytes are those of its record and its sentences, encoded (see codec.py). A document grows as it is
translated: as long as it is open it is charged for `GROWTH` times its bytes.
"""

import math
from dataclasses import dataclass
from typing import Literal

from server.telemetry.labels import OPEN_STATES, DocumentState

GROWTH = 3
"""Bytes of a translated document, about, per byte of the same document before its translation."""
WORK_SECONDS = 30
"""Seconds until the next attempt, where documents must be finished first."""
Bound = Literal["owner_documents", "owner_open", "owner_bytes", "documents", "num_bytes"]
BOUNDS: tuple[Bound, ...] = ("owner_documents", "owner_open", "owner_bytes", "documents", "num_bytes")
"""All limits in the order in which they are checked."""


class StoreFull(RuntimeError):
    """A limit is reached; the message says which, and what to do. `bound` is the name of the limit, `frees_at` (seconds
    since 1970) the time at which the first finished document that counts for it will have expired, None when none is
    finished."""

    def __init__(self, message: str, bound: Bound, frees_at: float | None) -> None:
        super().__init__(message)
        self.bound, self.frees_at = bound, frees_at

    def seconds_left(self, now: float) -> int:
        """Seconds until the next attempt: by then a document expires, or may be finished."""
        if self.bound == "owner_open" or self.frees_at is None:
            return WORK_SECONDS
        return max(1, math.ceil(self.frees_at - now))


class TooLargeToKeep(RuntimeError):
    """The document alone exceeds the limit of bytes; the message says the limit."""


@dataclass
class Usage:
    """What is stored for one owner, or for all. `open`: documents that are queued or running."""

    documents: int = 0
    open: int = 0
    num_bytes: int = 0


@dataclass(frozen=True)
class DocumentLimits:
    """The most that is stored for one owner and for all owners; None: no limit."""

    owner_documents: int | None = None
    owner_open: int | None = None
    owner_bytes: int | None = None
    documents: int | None = None
    num_bytes: int | None = None
    expires_after: float = 0.0
    """Seconds after its last touch by which a finished document has expired."""

    def check_alone(self, charge: int) -> None:
        """Raises TooLargeToKeep for a document that would exceed the limits of an empty store."""
        max_bytes = min((limit for limit in (self.owner_bytes, self.num_bytes) if limit is not None), default=charge)
        if charge > max_bytes:
            raise TooLargeToKeep(
                f"the document would take {charge} bytes with its translation, at most {max_bytes} are kept: send it "
                "in several documents"
            )

    def reached(self, owner: Usage, everybody: Usage, charge: int, is_open: bool) -> Bound | None:
        """The first limit that a new document of `charge` bytes would exceed, None if there is none. `owner` and
        `everybody` are what is stored without it."""
        wanted: dict[Bound, int] = {
            "owner_documents": owner.documents + 1,
            "owner_open": owner.open + 1 if is_open else 0,
            "owner_bytes": owner.num_bytes + charge,
            "documents": everybody.documents + 1,
            "num_bytes": everybody.num_bytes + charge,
        }
        return next((bound for bound in BOUNDS if _is_passed(self.of(bound), wanted[bound])), None)

    def outgrown(self, owner: Usage, everybody: Usage, old_size: int, size: int) -> Bound | None:
        """As `reached`, for a stored document of `old_size` bytes that changes to `size` bytes. A document that does
        not grow is never refused. Raises TooLargeToKeep."""
        more = size - old_size
        if more <= 0:
            return None
        self.check_alone(size)
        wanted: dict[Bound, int] = {"owner_bytes": owner.num_bytes + more, "num_bytes": everybody.num_bytes + more}
        return next((bound for bound, total in wanted.items() if _is_passed(self.of(bound), total)), None)

    def of(self, bound: Bound) -> int | None:
        limit: int | None = getattr(self, bound)
        return limit

    def full(self, bound: Bound, oldest_finished: float | None) -> StoreFull:
        limit = self.of(bound)
        message = {
            "owner_documents": f"at most {limit} documents are kept for one key",
            "owner_open": f"at most {limit} documents of one key wait or are in work at a time",
            "owner_bytes": f"the documents of one key have at most {limit} bytes together",
            "documents": f"{limit} documents are kept already",
            "num_bytes": f"all documents together have at most {limit} bytes",
        }[bound]
        remedy = (
            "wait until some are done, or delete some"
            if bound == "owner_open"
            else "delete some, or wait until they expire"
        )
        how = "GET /v1/documents lists yours, DELETE /v1/documents/ID deletes one"
        frees_at = None if oldest_finished is None else oldest_finished + self.expires_after
        return StoreFull(f"{message}; {remedy}: {how}", bound, frees_at)


NO_LIMITS = DocumentLimits()


def charge_of(size: int, state: DocumentState) -> int:
    """The bytes that a document of `size` bytes is charged for."""
    return size * GROWTH if state in OPEN_STATES else size


def _is_passed(limit: int | None, wanted: int) -> bool:
    return limit is not None and wanted > limit

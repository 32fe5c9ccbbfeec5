"""How much is kept, of one owner and of all: number of documents, of those that are queued or in work, and bytes.

A document's bytes are those of its record and its sentences, encoded (see codec.py). It grows as it is translated: as
long as it is queued or in work it is charged for `GROWTH` times its bytes.
"""

import math
from dataclasses import dataclass
from typing import Literal

from server.telemetry.labels import OPEN_STATES, DocumentState

GROWTH = 3
"""Bytes of a translated document, about, per byte of one that waits to be translated."""
WORK_SECONDS = 30
"""When to try again where documents must be finished first."""
Bound = Literal["owner_documents", "owner_open", "owner_bytes", "documents", "num_bytes"]
BOUNDS: tuple[Bound, ...] = ("owner_documents", "owner_open", "owner_bytes", "documents", "num_bytes")
"""In the order in which they are checked."""


class StoreFull(RuntimeError):
    """As much is kept as may be; the message says what, and what to do. `bound` is which limit was reached, `frees_at`
    (seconds since 1970) when the first of the finished documents that count for it will have expired, None when none is
    finished."""

    def __init__(self, message: str, bound: Bound, frees_at: float | None) -> None:
        super().__init__(message)
        self.bound, self.frees_at = bound, frees_at

    def seconds_left(self, now: float) -> int:
        """When to try again: a document expires, or may be finished by then."""
        if self.bound == "owner_open" or self.frees_at is None:
            return WORK_SECONDS
        return max(1, math.ceil(self.frees_at - now))


class TooLargeToKeep(RuntimeError):
    """The document alone is larger than all that may be kept; the message says how much that is."""


@dataclass
class Usage:
    """What is kept of one owner, or of all. `open`: documents that are queued or in work."""

    documents: int = 0
    open: int = 0
    num_bytes: int = 0


@dataclass(frozen=True)
class DocumentLimits:
    """The most that is kept of one owner and of all; None: no limit."""

    owner_documents: int | None = None
    owner_open: int | None = None
    owner_bytes: int | None = None
    documents: int | None = None
    num_bytes: int | None = None
    expires_after: float = 0.0
    """Seconds after its last touch by which a finished document has expired."""

    def check_alone(self, charge: int) -> None:
        """Raises TooLargeToKeep for a document that would not fit even if nothing else were kept."""
        most = min((limit for limit in (self.owner_bytes, self.num_bytes) if limit is not None), default=charge)
        if charge > most:
            raise TooLargeToKeep(
                f"the document would take {charge} bytes with its translation, at most {most} are kept: send it in "
                "several documents"
            )

    def reached(self, owner: Usage, everybody: Usage, charge: int, is_open: bool) -> Bound | None:
        """The first bound that a new document of `charge` bytes would pass, None if there is none. `owner` and
        `everybody` are what is kept without it."""
        wanted: dict[Bound, int] = {
            "owner_documents": owner.documents + 1,
            "owner_open": owner.open + 1 if is_open else 0,
            "owner_bytes": owner.num_bytes + charge,
            "documents": everybody.documents + 1,
            "num_bytes": everybody.num_bytes + charge,
        }
        return next((bound for bound in BOUNDS if _is_passed(self.of(bound), wanted[bound])), None)

    def outgrown(self, owner: Usage, everybody: Usage, old_size: int, size: int) -> Bound | None:
        """As `reached`, for a kept document of `old_size` bytes that changes to `size` bytes. One that does not grow is
        never refused. Raises TooLargeToKeep."""
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
        way = (
            "wait until some are done, or delete some"
            if bound == "owner_open"
            else "delete some, or wait until they expire"
        )
        where = "GET /v1/documents lists yours, DELETE /v1/documents/ID deletes one"
        frees_at = None if oldest_finished is None else oldest_finished + self.expires_after
        return StoreFull(f"{message}; {way}: {where}", bound, frees_at)


NO_LIMITS = DocumentLimits()


def charge_of(size: int, state: DocumentState) -> int:
    """What a document of `size` bytes is charged for."""
    return size * GROWTH if state in OPEN_STATES else size


def _is_passed(limit: int | None, wanted: int) -> bool:
    return limit is not None and wanted > limit

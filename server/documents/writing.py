"""Writing to documents that others write to as well: what does not fit any more is not written. Plain functions over
any store; each of them blocks."""

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass

from server.documents.records import Document, Sentence, State
from server.documents.store import Conflict, ContextStore


class LeaseLost(RuntimeError):
    """Another process works on the document."""


@dataclass(frozen=True)
class Lease:
    """A worker's right to a document that it claimed. `worker` None: nobody claims it, it is in no queue."""

    store: ContextStore
    document_id: str
    worker: str | None
    seconds: float

    def renew(self) -> None:
        """Raises LeaseLost and UnknownDocument."""
        if self.worker is not None and not self.store.renew(self.document_id, self.worker, self.seconds):
            raise LeaseLost(f"another process works on document {self.document_id}")


def next_version(document: Document, **changes: object) -> Document:
    """The document after a change of now."""
    changed: Document = dataclasses.replace(
        document,
        version=document.version + 1,
        touched=time.time(),
        **changes,  # type: ignore[arg-type]
    )
    return changed


def read_all(store: ContextStore, document_id: str) -> tuple[Document, list[Sentence]]:
    """A document and its sentences, which may be newer than the document. Raises UnknownDocument."""
    document = store.document(document_id)
    return document, store.sentences(document_id)


def save(lease: Lease, planned: Sequence[Sentence], translated: Sequence[Sentence]) -> None:
    """Keep the translations or drafts of those sentences that are still as they were `planned`. Who has the lease
    between reading and writing has it when writing: a claim by another raises the version, and the update fails.

    Raises LeaseLost and UnknownDocument.
    """
    first, last = min(one.index for one in planned), max(one.index for one in planned)
    while True:
        document = lease.store.document(lease.document_id)
        lease.renew()
        kept = {one.index: one for one in lease.store.sentences(lease.document_id, first, last + 1)}
        unchanged = [
            new for old, new in zip(planned, translated, strict=True) if kept[old.index].version == old.version
        ]
        try:
            lease.store.update(next_version(document), document.version, unchanged)
            return
        except Conflict:
            continue


def end(lease: Lease, state: State, document: Document | None = None, error: str | None = None) -> bool:
    """Give a document back as done, failed or queued. With `document`: only if it is still at that version; returns
    whether it was. Raises LeaseLost and UnknownDocument."""
    while True:
        current = lease.store.document(lease.document_id)
        if document is not None and current.version != document.version:
            return False
        lease.renew()
        try:
            lease.store.update(next_version(current, state=state, error=error), current.version)
            return True
        except Conflict:
            continue

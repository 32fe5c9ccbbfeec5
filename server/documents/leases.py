"""Writes of a job to a document that other processes write to as well: what was made from an outdated version is not
written, and attempts that end with the process are counted. Plain functions over any store; all of them block. Which
document is claimed is the store's decision (`server.stores.fair_order`)."""

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from server.stores.interface import Conflict, ContextStore
from server.stores.records import Document, Sentence, with_changed
from server.telemetry.labels import DocumentState

MAX_ATTEMPTS = 3
"""How often a process may die while it works on a document before the document has failed."""


class LeaseLost(RuntimeError):
    """Another process works on the document."""


class GivenUp(RuntimeError):
    """Every process that worked on the document died."""


@dataclass(frozen=True)
class Lease:
    """A worker's right to a document that it claimed, for `seconds` after each renewal. `worker` is None for a document
    in no queue, which no other worker can claim.

    A claim raises the document's version. So a worker that had the lease when it read the document has it as long as
    the version is the same: after a claim by another worker, its update fails.
    """

    store: ContextStore
    document_id: str
    worker: str | None
    seconds: float

    def renew(self) -> None:
        """Raises LeaseLost and UnknownDocument."""
        if self.worker is not None and not self.store.renew(self.document_id, self.worker, self.seconds):
            raise LeaseLost(f"another process works on document {self.document_id}")


@dataclass(frozen=True)
class DocumentSnapshot:
    """A document and all its sentences as they were at one moment."""

    document: Document
    sentences: list[Sentence]

    @classmethod
    def of(cls, store: ContextStore, document_id: str) -> "DocumentSnapshot":
        """Raises UnknownDocument."""
        return cls(*store.read(document_id))

    @cached_property
    def pending(self) -> list[Sentence]:
        """The sentences that have no translation yet."""
        return [sentence for sentence in self.sentences if sentence.is_pending]

    def with_changed(self, changed: Sequence[Sentence]) -> list[Sentence]:
        """All sentences, with the `changed` ones in place of their older versions; new ones at the end."""
        return with_changed(self.sentences, changed)


def next_version(document: Document, **changes: object) -> Document:
    """The document with `changes`, at the next version and touched now."""
    changed: Document = dataclasses.replace(
        document,
        version=document.version + 1,
        touched=time.time(),
        **changes,  # type: ignore[arg-type]
    )
    return changed


def begin(lease: Lease, claimed: Document) -> None:
    """Count an attempt before work begins, so that the next worker knows of it after a crash. Raises
    GivenUp after MAX_ATTEMPTS, LeaseLost and UnknownDocument."""
    document = claimed
    while True:
        if document.attempts >= MAX_ATTEMPTS:
            remedy = "send it again" if document.legs else "correct a sentence to have it tried again, or DELETE it"
            raise GivenUp(
                f"the server ended {document.attempts} times while it worked on this document, which is not tried "
                f"again: the servers' logs may say why; {remedy}"
            )
        try:
            lease.store.update(next_version(document, attempts=document.attempts + 1), document.version)
            return
        except Conflict:
            document = lease.store.document(lease.document_id)
            lease.renew()


def save(
    lease: Lease, known: DocumentSnapshot, planned: Sequence[Sentence], translated: Sequence[Sentence]
) -> DocumentSnapshot:
    """Write the translations or drafts of those sentences that are still as they were `planned`; the document is done
    when no other sentence is pending and no second stage follows. Returns what is stored now. The store is read only
    when it is not as `known`. Raises LeaseLost and UnknownDocument.
    """
    while True:
        versions = {sentence.index: sentence.version for sentence in known.sentences}
        kept = [new for old, new in zip(planned, translated, strict=True) if versions[old.index] == old.version]
        sentences = known.with_changed(kept)
        num_pending = sum(sentence.is_pending for sentence in sentences)
        document = next_version(known.document, attempts=0, num_pending=num_pending)
        if document.next_leg is None and not num_pending:
            document = dataclasses.replace(document, state="done", error=None)
        try:
            lease.store.update(document, known.document.version, kept)
            return DocumentSnapshot(document, sentences)
        except Conflict:
            known = DocumentSnapshot.of(lease.store, lease.document_id)
            lease.renew()


def forgive(store: ContextStore, document_id: str) -> None:
    """Take back an attempt that `begin` counted: the process did not die, though it lost the lease. Raises
    UnknownDocument."""
    while True:
        document = store.document(document_id)
        if not document.attempts:
            return
        try:
            store.update(next_version(document, attempts=document.attempts - 1), document.version)
            return
        except Conflict:
            continue


def end(lease: Lease, state: DocumentState, document: Document | None = None, error: str | None = None) -> bool:
    """Release a document as done, failed or queued; returns whether that was written. With `document`: only if it is
    still at that version. Raises LeaseLost and UnknownDocument."""
    current = document
    while True:
        if current is None:
            current = lease.store.document(lease.document_id)
            lease.renew()
        # `begin` counted an attempt, but the process did not die.
        attempts = max(0, current.attempts - 1) if state == "queued" else 0
        try:
            ended = next_version(current, state=state, error=error, attempts=attempts)
            lease.store.update(ended, current.version)
            return True
        except Conflict:
            if document is not None:
                lease.renew()
                return False
            current = None

"""The seam between documents and where they are kept: memory, a SQLite file or Redis."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from server.stores.glossaries import GlossaryStore
from server.stores.limits import NO_LIMITS, DocumentLimits
from server.stores.records import Document, Sentence


class StoreError(RuntimeError):
    """A store that cannot be reached or opened; the message says which and why."""


class UnknownDocument(LookupError):
    """No document with that id: it never existed, was deleted, or has expired."""


class Conflict(RuntimeError):
    """The document changed since it was read; read it again."""


@dataclass(frozen=True)
class Cursor:
    """A place in a list of documents, the newest first: what comes after it is older. `created` is in seconds since
    1970."""

    created: float
    document_id: str


class ContextStore(Protocol):
    """Keeps documents and their sentences, each write whole or not at all. Safe to call from several threads; SQLite
    and Redis also from several processes. Methods that take a document or its id raise UnknownDocument, except
    `create`; all raise StoreError.
    """

    def create(self, document: Document, sentences: Sequence[Sentence], limits: DocumentLimits = NO_LIMITS) -> None:
        """Keep a new document. Raises Conflict when the id is taken, and StoreFull when more would be kept than the
        limits allow: however many create at once, no more than that come to be."""
        ...

    def document(self, document_id: str) -> Document: ...

    def sentences(self, document_id: str, start: int = 0, end: int | None = None) -> list[Sentence]:
        """Sentences `start` up to but without `end`, by index."""
        ...

    def read(self, document_id: str) -> tuple[Document, list[Sentence]]:
        """A document and all its sentences, of the same moment."""
        ...

    def update(
        self,
        document: Document,
        expected_version: int,
        sentences: Sequence[Sentence] = (),
        limits: DocumentLimits = NO_LIMITS,
    ) -> None:
        """Replace the document, but for its owner, and the given sentences (new indices are appended) if the stored
        document's version is still `expected_version`. Raises Conflict, and StoreFull when it would grow beyond the
        bytes that the limits allow."""
        ...

    def delete(self, document_id: str) -> None: ...

    def claim(self, worker: str, lease_seconds: float, models: Collection[str]) -> Document | None:
        """Give a document of one of these models (names) that is queued, or running under a lease that ran out, to
        `worker`: it becomes running, leased to it. None when there is none. Two workers never get the same one. Owners
        take turns (see server.stores.fair_order); within an owner the oldest comes first. The cost does not grow
        with the number of documents that wait."""
        ...

    def renew(self, document_id: str, worker: str, lease_seconds: float) -> bool:
        """Prolong a lease; False when another worker has it."""
        ...

    def expire(self, older_than: float, models: Collection[str]) -> int:
        """Delete documents last touched before `older_than` (seconds since 1970) that are done or failed, or wait for
        a model that is none of `models` (names); returns how many."""
        ...

    def count(self) -> int:
        """How many documents are kept."""
        ...

    def page(self, owner: str | None, limit: int, after: Cursor | None = None) -> list[Document]:
        """Up to `limit` documents of an owner (None: of all), the newest first: by creation, then by id, both
        descending."""
        ...

    def rename_owner(self, former: str, owner: str) -> None:
        """What is one owner's becomes another's, glossaries included."""
        ...

    @property
    def glossaries(self) -> GlossaryStore:
        """Glossaries in the same place, closed with it."""
        ...

    def close(self) -> None: ...

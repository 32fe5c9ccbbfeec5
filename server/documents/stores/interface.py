"""The seam between documents and where they are kept: memory, a SQLite file or Redis."""

from collections.abc import Collection, Sequence
from typing import Protocol

from server.documents.stores.glossaries import GlossaryStore
from server.documents.stores.records import Document, Sentence


class StoreError(RuntimeError):
    """A store that cannot be reached or opened; the message says which and why."""


class UnknownDocument(LookupError):
    """No document with that id: it never existed, was deleted, or has expired."""


class Conflict(RuntimeError):
    """The document changed since it was read; read it again."""


class StoreFull(RuntimeError):
    """The store keeps as many documents as it may; the message says how many."""


class ContextStore(Protocol):
    """Keeps documents and their sentences, each write whole or not at all. Safe to call from several threads; SQLite
    and Redis also from several processes. Methods that take a document or its id raise UnknownDocument, except
    `create`; all raise StoreError.
    """

    def create(self, document: Document, sentences: Sequence[Sentence], at_most: int | None = None) -> None:
        """Keep a new document. Raises Conflict when the id is taken, and StoreFull when `at_most` documents are kept
        already: however many create at once, no more than that come to be."""
        ...

    def document(self, document_id: str) -> Document: ...

    def sentences(self, document_id: str, start: int = 0, end: int | None = None) -> list[Sentence]:
        """Sentences `start` up to but without `end`, by index."""
        ...

    def read(self, document_id: str) -> tuple[Document, list[Sentence]]:
        """A document and all its sentences, of the same moment."""
        ...

    def update(self, document: Document, expected_version: int, sentences: Sequence[Sentence] = ()) -> None:
        """Replace the document and the given sentences (new indices are appended) if the stored document's version is
        still `expected_version`. Raises Conflict."""
        ...

    def delete(self, document_id: str) -> None: ...

    def claim(self, worker: str, lease_seconds: float, models: Collection[str]) -> Document | None:
        """Give the oldest document of one of these models (names) that is queued, or running under a lease that ran
        out, to `worker`: it becomes running, leased to it. None when there is none. Two workers never get the same
        one."""
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

    @property
    def glossaries(self) -> GlossaryStore:
        """Glossaries in the same place, closed with it."""
        ...

    def close(self) -> None: ...

"""The interface of a store of documents: memory, a SQLite file and Redis implement it alike."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from server.stores.glossaries import GlossaryStore
from server.stores.keys import KeyStore
from server.stores.limits import NO_LIMITS, DocumentLimits
from server.stores.records import Document, Sentence
from server.stores.translation_memories import TranslationMemoryStore
from server.stores.usage import UsageStore
from server.telemetry.labels import DocumentState


class StoreError(RuntimeError):
    """The store cannot be reached or opened; the message says which store and why."""


class UnknownDocument(LookupError):
    """There is no document with that id: it never existed, was deleted, or has expired."""


class Conflict(RuntimeError):
    """The document changed since it was read; read it again."""


@dataclass(frozen=True)
class Cursor:
    """A position in a list of documents, the newest first: documents after it are older. `created` is in seconds since
    1970."""

    created: float
    document_id: str


class ChangePlace(NamedTuple):
    """A position in the list of a document's sentences by their last write: the document's version that the write made,
    then the sentence's index. A written sentence moves to the end of the list."""

    version: int
    position: int


FIRST_CHANGE = ChangePlace(-1, -1)
"""Before all sentences."""


@dataclass(frozen=True)
class Changes:
    """Some of the sentences that were written after a ChangePlace, in their order, with their places, and the
    document at the same moment. `are_all`: no others were."""

    document: Document
    sentences: list[tuple[ChangePlace, Sentence]]
    are_all: bool


class ContextStore(Protocol):
    """Stores documents and their sentences; every write is atomic. Safe to call from several threads; SQLite and Redis
    also from several processes. Methods that take a document or its id raise UnknownDocument, except
    `create`; all raise StoreError.
    """

    def create(self, document: Document, sentences: Sequence[Sentence], limits: DocumentLimits = NO_LIMITS) -> None:
        """Store a new document. Raises Conflict when the id is taken, and StoreFull above the limits, which also
        concurrent calls do not exceed."""
        ...

    def document(self, document_id: str) -> Document: ...

    def sentences(self, document_id: str, start: int = 0, end: int | None = None) -> list[Sentence]:
        """Sentences `start` up to but without `end`, by index."""
        ...

    def read(self, document_id: str, start: int = 0, end: int | None = None) -> tuple[Document, list[Sentence]]:
        """A document and its sentences at one moment: all, or `start` up to but without `end`."""
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
        """Lease a document of one of these models (names) that is queued, or running under an expired lease, to
        `worker`: the document becomes running. None when there is none. Two workers never get the same document. Owners
        take turns (see server.stores.fair_order); the oldest document of an owner comes first. The cost does not grow
        with the number of documents that wait."""
        ...

    def renew(self, document_id: str, worker: str, lease_seconds: float) -> bool:
        """Extend a lease; False when another worker has it."""
        ...

    def expire(self, older_than: float, models: Collection[str]) -> int:
        """Delete documents last touched before `older_than` (seconds since 1970) that are done or failed, or wait for
        a model that is none of `models` (names); returns how many. The cost does not grow with the number of documents
        that stay."""
        ...

    def count(self) -> int:
        """The number of stored documents."""
        ...

    def page(
        self, owner: str | None, limit: int, after: Cursor | None = None, state: DocumentState | None = None
    ) -> list[Document]:
        """Up to `limit` documents of an owner (None: of all) in a state (None: any), the newest first: by creation,
        then by id, both descending. The cost does not grow with the number of documents."""
        ...

    def versions(self, document_ids: Collection[str]) -> dict[str, int]:
        """The versions of these documents, without those that do not exist."""
        ...

    def changes(self, document_id: str, after: ChangePlace, limit: int) -> Changes:
        """Up to `limit` sentences that were written after a place, by place. The cost does not grow with the number of
        sentences. Sentences that RingMT 0.4 or older stored count as written by version 0."""
        ...

    def rename_owner(self, former: str, owner: str) -> None:
        """Give all documents and glossaries of one owner to another. Translation memories stay: owners that are renamed
        are of versions that had none."""
        ...

    @property
    def glossaries(self) -> GlossaryStore:
        """The glossaries in the same store, closed with it."""
        ...

    @property
    def translation_memories(self) -> TranslationMemoryStore:
        """The translation memories in the same store, closed with it."""
        ...

    @property
    def keys(self) -> KeyStore | None:
        """The API keys in the same store; None in memory, which would lose them."""
        ...

    @property
    def usage(self) -> UsageStore:
        """The characters that were counted in the same store."""
        ...

    def close(self) -> None: ...

"""Documents in this process: the default. They are gone when it ends, and no other process sees them."""

import dataclasses
import math
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from server.documents.stores import refusals
from server.documents.stores.codec import decode_document, encode
from server.documents.stores.interface import StoreError
from server.documents.stores.memory_glossaries import MemoryGlossaries
from server.documents.stores.records import Document, Sentence
from server.outcomes import OPEN_STATES


@dataclass
class _Kept:
    """`document` is encoded: nobody can change the options of what is kept. `leased_until` is in the clock's seconds,
    None without a lease."""

    document: str
    model: str
    state: str
    version: int
    created: float
    touched: float
    sentences: list[Sentence]
    worker: str | None = None
    leased_until: float | None = None


class MemoryStore:
    """A ContextStore in a dictionary under one lock. `clock` gives seconds since 1970."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[str, _Kept] = {}
        self._open: set[str] = set()
        """Ids of the documents that are queued or running."""
        self._is_closed = False
        self.glossaries = MemoryGlossaries(self._locked)

    def create(self, document: Document, sentences: Sequence[Sentence], at_most: int | None = None) -> None:
        ordered = refusals.check_new(document, sentences)
        with self._locked():
            if document.id in self._kept:
                raise refusals.taken(document.id)
            if at_most is not None and len(self._kept) >= at_most:
                raise refusals.full(at_most)
            self._put(document, ordered)

    def document(self, document_id: str) -> Document:
        with self._locked():
            text = self._find(document_id).document
        return decode_document(text)

    def sentences(self, document_id: str, start: int = 0, end: int | None = None) -> list[Sentence]:
        refusals.check_range(start, end)
        with self._locked():
            return self._find(document_id).sentences[start:end]

    def read(self, document_id: str) -> tuple[Document, list[Sentence]]:
        with self._locked():
            kept = self._find(document_id)
            text, sentences = kept.document, list(kept.sentences)
        return decode_document(text), sentences

    def update(self, document: Document, expected_version: int, sentences: Sequence[Sentence] = ()) -> None:
        ordered = refusals.check_update(document, expected_version, sentences)
        with self._locked():
            kept = self._find(document.id)
            if kept.version != expected_version:
                raise refusals.changed(document.id, expected_version, kept.version)
            refusals.check_fit(document, len(kept.sentences), ordered)
            merged = list(kept.sentences)
            for sentence in ordered:
                merged[sentence.index : sentence.index + 1] = [sentence]
            self._put(document, merged)
            if document.state == "running":
                self._kept[document.id].worker, self._kept[document.id].leased_until = kept.worker, kept.leased_until

    def delete(self, document_id: str) -> None:
        with self._locked():
            self._find(document_id)
            self._remove(document_id)

    def claim(self, worker: str, lease_seconds: float, models: Collection[str]) -> Document | None:
        refusals.check_lease(lease_seconds)
        with self._locked():
            now = self._clock()
            latest = refusals.latest_end(now, lease_seconds)
            free = [name for name in self._waiting(now, latest) if self._kept[name].model in models]
            if not free:
                return None
            oldest = min(free, key=lambda name: (self._kept[name].created, name))
            kept = self._kept[oldest]
            claimed = dataclasses.replace(decode_document(kept.document), state="running", version=kept.version + 1)
            self._put(claimed, kept.sentences)
            self._kept[oldest].worker, self._kept[oldest].leased_until = worker, now + lease_seconds
            return claimed

    def renew(self, document_id: str, worker: str, lease_seconds: float) -> bool:
        refusals.check_lease(lease_seconds)
        with self._locked():
            kept = self._find(document_id)
            if kept.worker != worker:
                return False
            kept.leased_until = self._clock() + lease_seconds
            return True

    def expire(self, older_than: float, models: Collection[str]) -> int:
        with self._locked():
            unserved = {name for name in self._waiting(self._clock()) if self._kept[name].model not in models}
            old = [
                name
                for name, kept in self._kept.items()
                if kept.touched < older_than and (name not in self._open or name in unserved)
            ]
            for name in old:
                self._remove(name)
            return len(old)

    def count(self) -> int:
        with self._locked():
            return len(self._kept)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._kept.clear()
            self._open.clear()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._lock:
            if self._is_closed:
                raise StoreError("context store memory://: it was closed")
            yield

    def _waiting(self, now: float, latest: float = math.inf) -> list[str]:
        """Ids of the documents that anybody may claim: no lease of theirs ends after `now` and up to `latest`."""
        return [name for name in self._open if not now < (self._kept[name].leased_until or 0.0) <= latest]

    def _find(self, document_id: str) -> _Kept:
        if document_id not in self._kept:
            raise refusals.unknown(document_id)
        return self._kept[document_id]

    def _put(self, document: Document, sentences: list[Sentence]) -> None:
        self._kept[document.id] = _Kept(
            encode(document),
            document.model,
            document.state,
            document.version,
            document.created,
            document.touched,
            sentences,
        )
        if document.state in OPEN_STATES:
            self._open.add(document.id)
        else:
            self._open.discard(document.id)

    def _remove(self, document_id: str) -> None:
        del self._kept[document_id]
        self._open.discard(document_id)

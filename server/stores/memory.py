"""Documents in this process: the default. They are gone when it ends, and no other process sees them."""

import dataclasses
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from server.stores import validation as refusals
from server.stores.codec import decode_document, decode_sentence, encode
from server.stores.fair_order import Candidate, after_turn, first_in_turn
from server.stores.interface import Cursor, StoreError
from server.stores.limits import NO_LIMITS, Bound, DocumentLimits, StoreFull, Usage, charge_of
from server.stores.memory_glossaries import MemoryGlossaries
from server.stores.records import Document, Sentence
from server.stores.sorted_ids import SortedIds
from server.telemetry.labels import OPEN_STATES, DocumentState


@dataclass
class _Kept:
    """`document` and `sentences` are encoded: nobody can change what is kept, and their lengths are what they take.
    `leased_until` is in the clock's seconds, 0 without a lease."""

    document: str
    owner: str
    model: str
    state: DocumentState
    version: int
    created: float
    touched: float
    sentences: list[str]
    size: int
    worker: str | None = None
    leased_until: float = 0.0

    @property
    def is_open(self) -> bool:
        return self.state in OPEN_STATES

    @property
    def charge(self) -> int:
        return charge_of(self.size, self.state)

    def decoded(self) -> Document:
        document = decode_document(self.document)
        return dataclasses.replace(document, owner=self.owner, state=self.state, version=self.version)


_EVERYBODY = None
"""The key of lists that have the documents of all owners."""


class MemoryStore:
    """A ContextStore in dictionaries under one lock. `clock` gives seconds since 1970."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[str, _Kept] = {}
        self._usage: defaultdict[str | None, Usage] = defaultdict(Usage)
        self._tags: dict[str, int] = {}
        self._now = 0
        """Turns of owners; see turns.py."""
        self._by_creation, self._queued, self._running = SortedIds(), SortedIds(), SortedIds()
        """By owner and creation; by model, owner and creation; by model and end of the lease."""
        self._waiting_owners: defaultdict[str, set[str]] = defaultdict(set)
        """By model, the owners of queued documents."""
        self._open, self._resting = SortedIds(), SortedIds()
        """By model and last touch; by owner and last touch."""
        self._is_closed = False
        self.glossaries = MemoryGlossaries(self._locked)

    def create(self, document: Document, sentences: Sequence[Sentence], limits: DocumentLimits = NO_LIMITS) -> None:
        ordered = refusals.check_new(document, sentences)
        body, bodies = encode(document), [encode(one) for one in ordered]
        size = len(body) + sum(map(len, bodies))
        charge = charge_of(size, document.state)
        limits.check_alone(charge)
        with self._locked():
            if document.id in self._kept:
                raise refusals.taken(document.id)
            usage = self._usage_of(document.owner), self._usage_of(_EVERYBODY)
            bound = limits.reached(*usage, charge, document.state in OPEN_STATES)
            if bound is not None:
                raise self._full(limits, bound, document.owner)
            self._enter(document.id, _kept(document, document.owner, body, bodies, size))

    def document(self, document_id: str) -> Document:
        with self._locked():
            kept = dataclasses.replace(self._find(document_id))
        return kept.decoded()

    def sentences(self, document_id: str, start: int = 0, end: int | None = None) -> list[Sentence]:
        refusals.check_range(start, end)
        with self._locked():
            bodies = self._find(document_id).sentences[start:end]
        return [decode_sentence(body) for body in bodies]

    def read(self, document_id: str) -> tuple[Document, list[Sentence]]:
        with self._locked():
            kept = dataclasses.replace(self._find(document_id))
            bodies = list(kept.sentences)
        return kept.decoded(), [decode_sentence(body) for body in bodies]

    def update(
        self,
        document: Document,
        expected_version: int,
        sentences: Sequence[Sentence] = (),
        limits: DocumentLimits = NO_LIMITS,
    ) -> None:
        ordered = refusals.check_update(document, expected_version, sentences)
        body, bodies = encode(document), [encode(one) for one in ordered]
        with self._locked():
            old = self._find(document.id)
            if old.version != expected_version:
                raise refusals.changed(document.id, expected_version, old.version)
            refusals.check_fit(document, len(old.sentences), ordered)
            replaced = [one for one in ordered if one.index < len(old.sentences)]
            size = old.size + len(body) - len(old.document) + sum(map(len, bodies))
            size -= sum(len(old.sentences[one.index]) for one in replaced)
            bound = limits.outgrown(self._usage_of(old.owner), self._usage_of(_EVERYBODY), old.size, size)
            if bound is not None:
                raise self._full(limits, bound, old.owner)
            self._leave(document.id)
            merged = old.sentences
            for sentence, encoded in zip(ordered, bodies, strict=True):
                merged[sentence.index : sentence.index + 1] = [encoded]
            new = _kept(document, old.owner, body, merged, size)
            if document.state == "running":
                new.worker, new.leased_until = old.worker, old.leased_until
            self._enter(document.id, new)

    def delete(self, document_id: str) -> None:
        with self._locked():
            self._find(document_id)
            self._leave(document_id)

    def claim(self, worker: str, lease_seconds: float, models: Collection[str]) -> Document | None:
        refusals.check_lease(lease_seconds)
        with self._locked():
            now = self._clock()
            candidates = self._candidates(models, now, refusals.latest_end(now, lease_seconds))
            chosen = first_in_turn(candidates, self._tags, self._now)
            if chosen is None:
                return None
            self._now, self._tags[chosen.owner] = after_turn(chosen, self._tags, self._now)
            self._tags = {owner: tag for owner, tag in self._tags.items() if tag > self._now}
            kept = self._leave(chosen.document_id)
            kept.state, kept.version = "running", kept.version + 1
            kept.worker, kept.leased_until = worker, now + lease_seconds
            self._enter(chosen.document_id, kept)
            return kept.decoded()

    def renew(self, document_id: str, worker: str, lease_seconds: float) -> bool:
        refusals.check_lease(lease_seconds)
        with self._locked():
            if self._find(document_id).worker != worker:
                return False
            kept = self._leave(document_id)
            kept.leased_until = self._clock() + lease_seconds
            self._enter(document_id, kept)
            return True

    def expire(self, older_than: float, models: Collection[str]) -> int:
        with self._locked():
            now = self._clock()
            old = [name for _, name in self._resting.below(_EVERYBODY, older_than)]
            for model in self._open.non_empty():
                if model not in models:
                    old += [
                        name for _, name in self._open.below(model, older_than) if self._kept[name].leased_until <= now
                    ]
            for name in old:
                self._leave(name)
            return len(old)

    def count(self) -> int:
        with self._locked():
            return len(self._kept)

    def page(self, owner: str | None, limit: int, after: Cursor | None = None) -> list[Document]:
        refusals.check_page(limit)
        place = None if after is None else (after.created, after.document_id)
        with self._locked():
            names = self._by_creation.before(owner, place, limit)
            kept = [dataclasses.replace(self._kept[name]) for _, name in names]
        return [one.decoded() for one in kept]

    def rename_owner(self, former: str, owner: str) -> None:
        with self._locked():
            for _, name in list(self._by_creation.of(former)):
                kept = self._leave(name)
                kept.owner = owner
                self._enter(name, kept)
            self.glossaries.rename_owner(former, owner)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._kept.clear()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._lock:
            if self._is_closed:
                raise StoreError("context store memory://: it was closed")
            yield

    def _candidates(self, models: Collection[str], now: float, latest: float) -> list[Candidate]:
        """The oldest document of every owner that anybody may claim: queued, or with no lease that ends after `now`
        and up to `latest`."""
        free: list[str] = []
        for model in set(models):
            free += [self._queued.of((model, owner))[0][1] for owner in self._waiting_owners.get(model, ())]
            ended = [*self._running.upto(model, now), *self._running.above(model, latest)]
            free += [name for _, name in ended]
        oldest: dict[str, Candidate] = {}
        for name in sorted(free, key=lambda name: (self._kept[name].created, name)):
            kept = self._kept[name]
            oldest.setdefault(kept.owner, Candidate(kept.owner, kept.created, name, len(kept.sentences)))
        return list(oldest.values())

    def _full(self, limits: DocumentLimits, bound: Bound, owner: str) -> StoreFull:
        resting = self._resting.of(owner if bound.startswith("owner") else _EVERYBODY)
        return limits.full(bound, resting[0][0] if resting else None)

    def _usage_of(self, owner: str | None) -> Usage:
        return self._usage.get(owner, Usage())

    def _find(self, document_id: str) -> _Kept:
        if document_id not in self._kept:
            raise refusals.unknown(document_id)
        return self._kept[document_id]

    def _enter(self, name: str, kept: _Kept) -> None:
        """Put a document into every list that it belongs to."""
        self._kept[name] = kept
        for whose in (kept.owner, _EVERYBODY):
            usage = self._usage[whose]
            usage.documents += 1
            usage.open += kept.is_open
            usage.num_bytes += kept.charge
            self._by_creation.add(whose, kept.created, name)
            if not kept.is_open:
                self._resting.add(whose, kept.touched, name)
        if kept.is_open:
            self._open.add(kept.model, kept.touched, name)
        if kept.state == "queued":
            self._queued.add((kept.model, kept.owner), kept.created, name)
            self._waiting_owners[kept.model].add(kept.owner)
        elif kept.state == "running":
            self._running.add(kept.model, kept.leased_until, name)

    def _leave(self, name: str) -> _Kept:
        """Take a document out of every list."""
        kept = self._kept.pop(name)
        for whose in (kept.owner, _EVERYBODY):
            usage = self._usage[whose]
            usage.documents -= 1
            usage.open -= kept.is_open
            usage.num_bytes -= kept.charge
            if not usage.documents:
                del self._usage[whose]
            self._by_creation.discard(whose, kept.created, name)
            if not kept.is_open:
                self._resting.discard(whose, kept.touched, name)
        if kept.is_open:
            self._open.discard(kept.model, kept.touched, name)
        if kept.state == "queued":
            self._queued.discard((kept.model, kept.owner), kept.created, name)
            if not self._queued.of((kept.model, kept.owner)):
                self._waiting_owners[kept.model].discard(kept.owner)
                if not self._waiting_owners[kept.model]:
                    del self._waiting_owners[kept.model]
        elif kept.state == "running":
            self._running.discard(kept.model, kept.leased_until, name)
        return kept


def _kept(document: Document, owner: str, body: str, bodies: list[str], size: int) -> _Kept:
    return _Kept(
        body,
        owner,
        document.model,
        document.state,
        document.version,
        document.created,
        document.touched,
        bodies,
        size,
    )

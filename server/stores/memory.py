"""Documents in the memory of this process: the default store. They are lost when the process ends, and no other process
sees them."""

import dataclasses
import threading
import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from contextlib import contextmanager

from server.stores import validation
from server.stores.codec import decode_sentence, encode
from server.stores.fair_order import Candidate, next_candidate, tags_after
from server.stores.interface import ChangePlace, Changes, Cursor, StoreError
from server.stores.limits import NO_LIMITS, Bound, DocumentLimits, StoreFull, Usage, charge_of
from server.stores.memory_glossaries import MemoryGlossaries
from server.stores.memory_records import INDICES, MemoryRecord, new_record, number_of
from server.stores.memory_translation_memories import MemoryTranslationMemories
from server.stores.memory_usage import MemoryUsage
from server.stores.records import Document, Sentence
from server.stores.sorted_ids import SortedIds
from server.telemetry.labels import OPEN_STATES, DocumentState

_ALL_OWNERS = None
"""The key of lists of the documents of all owners."""
_ANY_STATE = None
"""The key of lists of documents in any state."""


class MemoryStore:
    """A ContextStore in dictionaries under one lock. `clock` gives seconds since 1970."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._records: dict[str, MemoryRecord] = {}
        self._usage: defaultdict[str | None, Usage] = defaultdict(Usage)
        self._now, self._tags = 0, dict[str, int]()
        """The tag of the last claim, and the tags of owners; see fair_order.py."""
        self._by_creation, self._queued, self._running = SortedIds(), SortedIds(), SortedIds()
        """Documents by owner, state and creation; queued ones by model, owner and creation; running ones by model and
        end of the lease."""
        self._waiting_owners: defaultdict[str, set[str]] = defaultdict(set)
        """The owners of queued documents by model."""
        self._open, self._resting = SortedIds(), SortedIds()
        """Open documents by model and last touch; other documents by owner and last touch."""
        self._is_closed = False
        self.glossaries = MemoryGlossaries(self._locked)
        self.translation_memories = MemoryTranslationMemories(self._locked)
        self.keys: None = None
        self.usage = MemoryUsage(self._locked)

    def create(self, document: Document, sentences: Sequence[Sentence], limits: DocumentLimits = NO_LIMITS) -> None:
        ordered = validation.check_new(document, sentences)
        body, bodies = encode(document), [encode(sentence) for sentence in ordered]
        size = len(body) + sum(map(len, bodies))
        charge = charge_of(size, document.state)
        limits.check_alone(charge)
        with self._locked():
            if document.id in self._records:
                raise validation.taken(document.id)
            usage = self._usage_of(document.owner), self._usage_of(_ALL_OWNERS)
            bound = limits.reached(*usage, charge, document.state in OPEN_STATES)
            if bound is not None:
                raise self._full(limits, bound, document.owner)
            record = new_record(document, document.owner, body, bodies, size)
            record.write(range(len(bodies)))
            self._add(document.id, record)

    def document(self, document_id: str) -> Document:
        with self._locked():
            record = dataclasses.replace(self._find(document_id))
        return record.decoded()

    def sentences(self, document_id: str, start: int = 0, end: int | None = None) -> list[Sentence]:
        validation.check_range(start, end)
        with self._locked():
            bodies = self._find(document_id).sentences[start:end]
        return [decode_sentence(body) for body in bodies]

    def read(self, document_id: str, start: int = 0, end: int | None = None) -> tuple[Document, list[Sentence]]:
        validation.check_range(start, end)
        with self._locked():
            record = dataclasses.replace(self._find(document_id))
            bodies = record.sentences[start:end]
        return record.decoded(), [decode_sentence(body) for body in bodies]

    def update(
        self,
        document: Document,
        expected_version: int,
        sentences: Sequence[Sentence] = (),
        limits: DocumentLimits = NO_LIMITS,
    ) -> None:
        ordered = validation.check_update(document, expected_version, sentences)
        body, bodies = encode(document), [encode(sentence) for sentence in ordered]
        with self._locked():
            old = self._find(document.id)
            if old.version != expected_version:
                raise validation.changed(document.id, expected_version, old.version)
            validation.check_fit(document, len(old.sentences), ordered)
            replaced = [sentence.index for sentence in ordered if sentence.index < len(old.sentences)]
            size = old.size + len(body) - len(old.document) + sum(map(len, bodies))
            size -= sum(len(old.sentences[index]) for index in replaced)
            bound = limits.outgrown(self._usage_of(old.owner), self._usage_of(_ALL_OWNERS), old.size, size)
            if bound is not None:
                raise self._full(limits, bound, old.owner)
            self._remove(document.id)
            merged = old.sentences
            for sentence, encoded in zip(ordered, bodies, strict=True):
                merged[sentence.index : sentence.index + 1] = [encoded]
            new = new_record(document, old.owner, body, merged, size)
            new.changed, new.written_by = old.changed, old.written_by
            new.write([sentence.index for sentence in ordered])
            if document.state == "running":
                new.worker, new.leased_until = old.worker, old.leased_until
            self._add(document.id, new)

    def delete(self, document_id: str) -> None:
        with self._locked():
            self._find(document_id)
            self._remove(document_id)

    def claim(self, worker: str, lease_seconds: float, models: Collection[str]) -> Document | None:
        validation.check_lease(lease_seconds)
        with self._locked():
            now = self._clock()
            candidates = self._candidates(models, now, validation.latest_end(now, lease_seconds))
            chosen = next_candidate(candidates, self._tags, self._now)
            if chosen is None:
                return None
            self._now, self._tags[chosen.owner] = tags_after(chosen, self._tags, self._now)
            self._tags = {owner: tag for owner, tag in self._tags.items() if tag > self._now}
            record = self._remove(chosen.document_id)
            record.state, record.version = "running", record.version + 1
            record.worker, record.leased_until = worker, now + lease_seconds
            self._add(chosen.document_id, record)
            return record.decoded()

    def renew(self, document_id: str, worker: str, lease_seconds: float) -> bool:
        validation.check_lease(lease_seconds)
        with self._locked():
            if self._find(document_id).worker != worker:
                return False
            record = self._remove(document_id)
            record.leased_until = self._clock() + lease_seconds
            self._add(document_id, record)
            return True

    def expire(self, older_than: float, models: Collection[str]) -> int:
        with self._locked():
            now = self._clock()
            old = [name for _, name in self._resting.below(_ALL_OWNERS, older_than)]
            for model in self._open.non_empty():
                if model not in models:
                    old += [
                        name
                        for _, name in self._open.below(model, older_than)
                        if self._records[name].leased_until <= now
                    ]
            for name in old:
                self._remove(name)
            return len(old)

    def count(self) -> int:
        with self._locked():
            return len(self._records)

    def page(
        self, owner: str | None, limit: int, after: Cursor | None = None, state: DocumentState | None = None
    ) -> list[Document]:
        validation.check_page(limit)
        position = None if after is None else (after.created, after.document_id)
        with self._locked():
            names = self._by_creation.before((owner, state), position, limit)
            records = [dataclasses.replace(self._records[name]) for _, name in names]
        return [record.decoded() for record in records]

    def versions(self, document_ids: Collection[str]) -> dict[str, int]:
        with self._locked():
            return {name: self._records[name].version for name in document_ids if name in self._records}

    def changes(self, document_id: str, after: ChangePlace, limit: int) -> Changes:
        validation.check_changes(limit)
        with self._locked():
            record = dataclasses.replace(self._find(document_id))
            start = bisect_right(record.changed, number_of(after))
            places = [ChangePlace(*divmod(number, INDICES)) for number in record.changed[start : start + limit]]
            bodies = [record.sentences[place.position] for place in places]
            are_all = start + limit >= len(record.changed)
        sentences = [(place, decode_sentence(body)) for place, body in zip(places, bodies, strict=True)]
        return Changes(record.decoded(), sentences, are_all)

    def rename_owner(self, former: str, owner: str) -> None:
        with self._locked():
            for _, name in list(self._by_creation.of((former, _ANY_STATE))):
                record = self._remove(name)
                record.owner = owner
                self._add(name, record)
            self.glossaries.rename_owner(former, owner)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._records.clear()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._lock:
            if self._is_closed:
                raise StoreError("context store memory://: it was closed")
            yield

    def _candidates(self, models: Collection[str], now: float, latest: float) -> list[Candidate]:
        """The oldest claimable document of every owner: queued, or running without a lease that ends after `now` and
        by `latest`."""
        claimable: list[str] = []
        for model in set(models):
            claimable += [self._queued.of((model, owner))[0][1] for owner in self._waiting_owners.get(model, ())]
            ended = [*self._running.upto(model, now), *self._running.above(model, latest)]
            claimable += [name for _, name in ended]
        oldest: dict[str, Candidate] = {}
        for name in sorted(claimable, key=lambda name: (self._records[name].created, name)):
            record = self._records[name]
            oldest.setdefault(record.owner, Candidate(record.owner, record.created, name, len(record.sentences)))
        return list(oldest.values())

    def _full(self, limits: DocumentLimits, bound: Bound, owner: str) -> StoreFull:
        resting = self._resting.of(owner if bound.startswith("owner") else _ALL_OWNERS)
        return limits.full(bound, resting[0][0] if resting else None)

    def _usage_of(self, owner: str | None) -> Usage:
        return self._usage.get(owner, Usage())

    def _find(self, document_id: str) -> MemoryRecord:
        if document_id not in self._records:
            raise validation.unknown(document_id)
        return self._records[document_id]

    def _add(self, name: str, record: MemoryRecord) -> None:
        self._records[name] = record
        self._index(name, record, SortedIds.add, 1)
        if record.state == "queued":
            self._waiting_owners[record.model].add(record.owner)

    def _remove(self, name: str) -> MemoryRecord:
        record = self._records.pop(name)
        self._index(name, record, SortedIds.discard, -1)
        if record.state == "queued" and not self._queued.of((record.model, record.owner)):
            self._waiting_owners[record.model].discard(record.owner)
            if not self._waiting_owners[record.model]:
                del self._waiting_owners[record.model]
        return record

    def _index(
        self, name: str, record: MemoryRecord, change: Callable[[SortedIds, Hashable, float, str], None], sign: int
    ) -> None:
        """Add a document to every list that it belongs to and count it, or the reverse."""
        for owner in (record.owner, _ALL_OWNERS):
            usage = self._usage[owner]
            usage.documents += sign
            usage.open += sign * record.is_open
            usage.num_bytes += sign * record.charge
            if not usage.documents:
                del self._usage[owner]
            for state in (record.state, _ANY_STATE):
                change(self._by_creation, (owner, state), record.created, name)
            if not record.is_open:
                change(self._resting, owner, record.touched, name)
        if record.is_open:
            change(self._open, record.model, record.touched, name)
        if record.state == "queued":
            change(self._queued, (record.model, record.owner), record.created, name)
        elif record.state == "running":
            change(self._running, record.model, record.leased_until, name)

"""Writes that race: what does not fit any more is not written."""

import dataclasses
import time
from collections.abc import Sequence

import pytest

from server.documents.leases import (
    MAX_ATTEMPTS,
    DocumentSnapshot,
    GivenUp,
    Lease,
    LeaseLost,
    begin,
    end,
    next_version,
    save,
)
from server.stores.interface import ContextStore, UnknownDocument
from server.stores.limits import NO_LIMITS, DocumentLimits
from server.stores.memory import MemoryStore
from server.stores.records import Document, Sentence
from tests.server.documents.some import SERVED, keep


def claimed(store: ContextStore, worker: str = "w", seconds: float = 100) -> Lease:
    document = store.claim(worker, seconds, SERVED)
    assert document is not None
    return Lease(store, document.id, worker, seconds)


def begin_anew(store: ContextStore, worker: str, seconds: float = 100) -> Lease:
    """Claim the document and begin to work on it."""
    lease = claimed(store, worker, seconds)
    begin(lease, store.document(lease.document_id))
    return lease


def translated(sentences: Sequence[Sentence]) -> list[Sentence]:
    return [dataclasses.replace(sentence, translation=f"{sentence.source}!") for sentence in sentences]


def test_what_was_corrected_meanwhile_is_not_overwritten() -> None:
    store = MemoryStore()
    keep(store, num_sentences=3)
    lease = claimed(store)
    known = DocumentSnapshot.of(store, "first")
    document, planned = known.document, known.sentences
    corrected = dataclasses.replace(planned[1], source="No.", version=2)
    store.update(next_version(document), document.version, [corrected])
    kept = save(lease, known, planned, translated(planned))
    assert kept == DocumentSnapshot.of(store, "first")
    assert [sentence.translation for sentence in store.sentences("first")] == ["Yes.!", None, "Yes.!"]
    assert store.sentences("first")[1] == corrected


def test_who_lost_the_lease_writes_nothing() -> None:
    store = MemoryStore()
    keep(store, num_sentences=1)
    late = claimed(store, "late", 0)
    known = DocumentSnapshot.of(store, "first")
    planned = known.sentences
    claimed(store, "next")
    for write in (lambda: save(late, known, planned, translated(planned)), lambda: end(late, "done")):
        with pytest.raises(LeaseLost):
            write()
    assert store.sentences("first") == planned
    assert store.document("first").state == "running"


class Racing(MemoryStore):
    """Something else happens between a writer's reading and its writing."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: list[tuple[str, float]] = []

    def update(
        self,
        document: Document,
        expected_version: int,
        sentences: Sequence[Sentence] = (),
        limits: DocumentLimits = NO_LIMITS,
    ) -> None:
        if self.meanwhile:
            worker, seconds = self.meanwhile.pop()
            if worker == "change":
                current = self.document(document.id)
                super().update(next_version(current), current.version)
            elif worker == "delete":
                self.delete(document.id)
            else:
                assert self.renew(document.id, "late", 0)
                assert self.claim(worker, seconds, SERVED) is not None
        super().update(document, expected_version, sentences, limits)


def test_a_lease_lost_between_reading_and_writing_loses_the_write() -> None:
    store = Racing()
    keep(store, num_sentences=1)
    lease = claimed(store, "late")
    known = DocumentSnapshot.of(store, "first")
    planned = known.sentences
    store.meanwhile = [("next", 100)]
    with pytest.raises(LeaseLost):
        save(lease, known, planned, translated(planned))
    assert store.sentences("first") == planned


def test_a_change_between_reading_and_writing_is_kept_and_the_write_repeated() -> None:
    store = Racing()
    keep(store, num_sentences=1)
    lease = claimed(store)
    known = DocumentSnapshot.of(store, "first")
    planned = known.sentences
    store.meanwhile = [("change", 0)]
    save(lease, known, planned, translated(planned))
    assert store.sentences("first")[0].translation == "Yes.!"
    assert store.document("first").version == 4


def test_a_document_deleted_between_is_not_made_again() -> None:
    store = Racing()
    keep(store, num_sentences=1)
    lease = claimed(store)
    known = DocumentSnapshot.of(store, "first")
    planned = known.sentences
    store.meanwhile = [("delete", 0)]
    with pytest.raises(UnknownDocument):
        save(lease, known, planned, translated(planned))
    assert store.count() == 0


def test_a_document_is_done_only_at_the_version_that_was_looked_at() -> None:
    store = MemoryStore()
    keep(store)
    lease = claimed(store)
    seen = store.document("first")
    store.update(next_version(seen), seen.version)
    assert not end(lease, "done", seen)
    assert store.document("first").state == "running"
    assert end(lease, "done", store.document("first"))
    assert store.document("first").state == "done"


def test_who_dies_of_a_document_again_and_again_is_the_last(store: ContextStore) -> None:
    """Each of them is claimed, begun and never finished."""
    keep(store, num_sentences=2)
    for attempt in range(MAX_ATTEMPTS):
        begin_anew(store, f"dies {attempt}", 0)
    last = claimed(store, "last")
    with pytest.raises(GivenUp, match="ended 3 times"):
        begin(last, store.document("first"))
    assert end(last, "failed", error="so")
    assert store.document("first").attempts == 0


def test_progress_and_a_release_are_no_failed_attempts(store: ContextStore) -> None:
    keep(store, num_sentences=2)
    begin_anew(store, "dies", 0)
    lease = begin_anew(store, "lives")
    assert store.document("first").attempts == 2
    end(lease, "queued")
    assert store.document("first").attempts == 1
    lease = begin_anew(store, "lives longer")
    known = DocumentSnapshot.of(store, "first")
    save(lease, known, planned := known.sentences[:1], translated(planned))
    assert store.document("first").attempts == 0


def test_who_changes_a_document_has_touched_it() -> None:
    """Or one that is in use would expire."""
    store = MemoryStore()
    keep(store, num_sentences=2)
    long_ago = store.document("first").touched
    lease = begin_anew(store, "w")
    begun = store.document("first").touched
    known = DocumentSnapshot.of(store, "first")
    saved = save(lease, known, known.sentences, translated(known.sentences)).document.touched
    assert long_ago < begun <= saved <= time.time()
    assert time.time() - begun < 60
    assert next_version(dataclasses.replace(known.document, touched=5.0)).touched >= saved


def test_a_document_is_done_with_its_last_sentence() -> None:
    store = MemoryStore()
    keep(store, num_sentences=3)
    lease = claimed(store)
    known = DocumentSnapshot.of(store, "first")
    for planned, state in ((known.sentences[:2], "running"), (known.sentences[2:], "done")):
        known = save(lease, known, planned, translated(planned))
        assert known.document.state == store.document("first").state == state

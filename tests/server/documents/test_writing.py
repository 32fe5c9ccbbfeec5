"""Writes that race: what does not fit any more is not written."""

import dataclasses
from collections.abc import Sequence

import pytest

from server.documents.memory import MemoryStore
from server.documents.records import Document, Sentence
from server.documents.store import ContextStore, UnknownDocument
from server.documents.writing import MAX_ATTEMPTS, GivenUp, Lease, LeaseLost, begin, end, next_version, save
from tests.server.documents.some import keep


def claimed(store: ContextStore, worker: str = "w", seconds: float = 100) -> Lease:
    document = store.claim(worker, seconds)
    assert document is not None
    return Lease(store, document.id, worker, seconds)


def translated(sentences: Sequence[Sentence]) -> list[Sentence]:
    return [dataclasses.replace(one, translation=f"{one.source}!") for one in sentences]


def test_what_was_corrected_meanwhile_is_not_overwritten() -> None:
    store = MemoryStore()
    keep(store, num_sentences=3)
    lease = claimed(store)
    planned = store.sentences("first")
    document = store.document("first")
    corrected = dataclasses.replace(planned[1], source="No.", version=2)
    store.update(next_version(document), document.version, [corrected])
    save(lease, planned, translated(planned))
    assert [one.translation for one in store.sentences("first")] == ["Yes.!", None, "Yes.!"]
    assert store.sentences("first")[1] == corrected


def test_who_lost_the_lease_writes_nothing() -> None:
    store = MemoryStore()
    keep(store, num_sentences=1)
    late = claimed(store, "late", 0)
    claimed(store, "next")
    planned = store.sentences("first")
    for write in (lambda: save(late, planned, translated(planned)), lambda: end(late, "done")):
        with pytest.raises(LeaseLost):
            write()
    assert store.sentences("first") == planned
    assert store.document("first").state == "running"


class Racing(MemoryStore):
    """Something else happens between a writer's reading and its writing."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: list[tuple[str, float]] = []

    def update(self, document: Document, expected_version: int, sentences: Sequence[Sentence] = ()) -> None:
        if self.meanwhile:
            worker, seconds = self.meanwhile.pop()
            if worker == "change":
                current = self.document(document.id)
                super().update(next_version(current), current.version)
            elif worker == "delete":
                self.delete(document.id)
            else:
                self._kept[document.id].leased_until = 0.0
                assert self.claim(worker, seconds) is not None
        super().update(document, expected_version, sentences)


def test_a_lease_lost_between_reading_and_writing_loses_the_write() -> None:
    store = Racing()
    keep(store, num_sentences=1)
    lease = claimed(store, "late")
    planned = store.sentences("first")
    store.meanwhile = [("next", 100)]
    with pytest.raises(LeaseLost):
        save(lease, planned, translated(planned))
    assert store.sentences("first") == planned


def test_a_change_between_reading_and_writing_is_kept_and_the_write_repeated() -> None:
    store = Racing()
    keep(store, num_sentences=1)
    lease = claimed(store)
    planned = store.sentences("first")
    store.meanwhile = [("change", 0)]
    save(lease, planned, translated(planned))
    assert store.sentences("first")[0].translation == "Yes.!"
    assert store.document("first").version == 4


def test_a_document_deleted_between_is_not_made_again() -> None:
    store = Racing()
    keep(store, num_sentences=1)
    lease = claimed(store)
    planned = store.sentences("first")
    store.meanwhile = [("delete", 0)]
    with pytest.raises(UnknownDocument):
        save(lease, planned, translated(planned))
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
    """Each of them is claimed, begun and never heard of again."""
    keep(store, num_sentences=2)
    for attempt in range(MAX_ATTEMPTS):
        begin(claimed(store, f"dies {attempt}", 0))
    last = claimed(store, "last")
    with pytest.raises(GivenUp, match="ended 3 times"):
        begin(last)
    assert end(last, "failed", error="so")
    assert store.document("first").attempts == 0


def test_progress_and_a_release_are_no_failed_attempts(store: ContextStore) -> None:
    keep(store, num_sentences=2)
    begin(claimed(store, "dies", 0))
    lease = claimed(store, "lives")
    begin(lease)
    assert store.document("first").attempts == 2
    end(lease, "queued")
    assert store.document("first").attempts == 1
    lease = claimed(store, "lives longer")
    begin(lease)
    save(lease, planned := store.sentences("first")[:1], translated(planned))
    assert store.document("first").attempts == 0

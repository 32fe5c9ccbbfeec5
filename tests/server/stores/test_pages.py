"""Lists in pages, while documents and sentences are written and deleted between two pages."""

import dataclasses
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.stores.interface import FIRST_CHANGE, ContextStore, Cursor, UnknownDocument
from server.stores.memory import MemoryStore
from server.stores.records import Document
from server.telemetry.labels import DOCUMENT_STATES, DocumentState
from tests.server.documents.some import keep, sentence

TIMES = 4
"""Times of creation: most documents have the same time as others."""


class Listing:
    """Lists all documents of a state while others come, change and go. `stayed`: those that were in the list from its
    first page to its last."""

    def __init__(self, store: ContextStore, generator: random.Random, state: DocumentState | None) -> None:
        self.store, self.generator, self.state = store, generator, state
        self.next = 0
        for _ in range(generator.randrange(30)):
            self.create()
        self.stayed = set(self.names())
        self.listed: list[Document] = []

    def names(self) -> list[str]:
        return [document.id for document in self.store.page("shop", 1000, None, self.state)]

    def create(self) -> None:
        generator, name = self.generator, f"{self.generator.choice('aZ_-')}{self.next}"
        self.next += 1
        owner, created = generator.choice(["shop", "shop", "desk"]), float(generator.randrange(TIMES))
        keep(self.store, name, state=generator.choice(DOCUMENT_STATES), owner=owner, created=created)

    def disturb(self) -> None:
        """Create a document, delete one, or change one's state."""
        kept = self.store.page(None, 1000)
        if not kept or self.generator.random() < 0.4:
            self.create()
            return
        chosen = self.generator.choice(kept)
        if self.generator.random() < 0.6:
            self.store.delete(chosen.id)
        else:
            state = self.generator.choice(DOCUMENT_STATES)
            self.store.update(dataclasses.replace(chosen, state=state, version=chosen.version + 1), chosen.version)
        self.stayed &= set(self.names())

    def run(self) -> None:
        after: Cursor | None = None
        while page := self.store.page("shop", self.generator.randint(1, 4), after, self.state):
            self.listed += page
            after = Cursor(page[-1].created, page[-1].id)
            for _ in range(self.generator.randrange(3)):
                self.disturb()

    def check(self) -> None:
        names = [document.id for document in self.listed]
        assert len(set(names)) == len(names), "a document is listed twice"
        assert self.stayed <= set(names), "a document is missing"
        assert all(document.owner == "shop" and self.state in (None, document.state) for document in self.listed)
        places = [(document.created, document.id) for document in self.listed]
        assert places == sorted(places, reverse=True)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6), state=st.sampled_from([None, *DOCUMENT_STATES]))
def test_every_document_that_stays_is_listed_once(seed: int, state: DocumentState | None) -> None:
    listing = Listing(MemoryStore(), random.Random(seed), state)
    listing.run()
    listing.check()


@pytest.mark.parametrize("state", [None, "queued"])
def test_every_store_lists_every_document_that_stays_once(store: ContextStore, state: DocumentState | None) -> None:
    for seed in range(5):
        for kept in store.page(None, 1000):
            store.delete(kept.id)
        listing = Listing(store, random.Random(seed), state)
        listing.run()
        listing.check()


def test_pages_by_number_would_lose_documents() -> None:
    """The property notices it."""

    class ByNumber(MemoryStore):
        start = 0

        def page(
            self, owner: str | None, limit: int, after: Cursor | None = None, state: DocumentState | None = None
        ) -> list[Document]:
            if limit >= 1000:
                return super().page(owner, limit, None, state)
            documents = super().page(owner, 1000, None, state)[self.start : self.start + limit]
            self.start += len(documents)
            return documents

    def is_right(seed: int) -> bool:
        listing = Listing(ByNumber(), random.Random(seed), None)
        listing.run()
        try:
            listing.check()
        except AssertionError:
            return False
        return True

    assert not all(is_right(seed) for seed in range(20))


def test_whoever_follows_changes_has_every_sentence_as_it_is_in_the_end(store: ContextStore) -> None:
    """However sentences are written while they are read in pages."""
    generator = random.Random(3)
    kept = keep(store, num_sentences=4)
    known, place = dict[int, str](), FIRST_CHANGE
    for round_number in range(60):
        if round_number < 40 and generator.random() < 0.7:
            indices = sorted(generator.sample(range(kept.num_sentences + 1), generator.randint(1, 3)))
            kept = dataclasses.replace(
                kept,
                version=kept.version + generator.randint(1, 3),
                num_sentences=max(kept.num_sentences, indices[-1] + 1),
            )
            store.update(kept, store.document("first").version, [sentence(i, f"{round_number}") for i in indices])
        changes = store.changes("first", place, generator.randint(1, 3))
        assert changes.document == kept
        known |= {changed.index: changed.source for _, changed in changes.sentences}
        place = changes.sentences[-1][0] if changes.sentences else place
        if changes.are_all:
            assert known == {sentence.index: sentence.source for sentence in store.sentences("first")}
    assert changes.are_all
    with pytest.raises(UnknownDocument):
        store.changes("none", FIRST_CHANGE, 1)
    with pytest.raises(ValueError, match="1 sentence or more"):
        store.changes("first", FIRST_CHANGE, 0)

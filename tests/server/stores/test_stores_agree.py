"""The same random operations on all three stores have the same results: memory is the slow, plain reference."""

import dataclasses

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from server.stores.interface import FIRST_CHANGE, ChangePlace, Conflict, Cursor, UnknownDocument
from server.stores.limits import DocumentLimits, StoreFull, TooLargeToKeep
from server.stores.records import Document, Sentence
from server.telemetry.labels import DOCUMENT_STATES, DocumentState
from tests.server.documents.some import document, sentence
from tests.server.stores.agreeing import AgreeingStores, all_outcomes

KEPT = ("a", "b", "c", "d", "e")
NAMES = st.sampled_from([*KEPT, "no such", ""])
STATES: st.SearchStrategy[DocumentState] = st.sampled_from(DOCUMENT_STATES)
TIMES = st.integers(0, 9).map(float)
LEASES = st.sampled_from([0, 3600])
"""Over at once, or not before the test is: no clock is needed."""
MODEL = st.sampled_from(["tiny", "other"])
MODELS = st.lists(MODEL, unique=True)
WORKERS = st.sampled_from(["v", "w"])
OWNER = st.sampled_from(["", "shop", "desk"])
FEW = st.none() | st.integers(0, 3)
BYTES = st.none() | st.integers(500, 4000)
LIMITS = st.builds(DocumentLimits, FEW, FEW, BYTES, FEW, BYTES)


class Stores(AgreeingStores):
    errors = (Conflict, StoreFull, TooLargeToKeep, UnknownDocument, ValueError)

    @initialize()
    def refuse(self) -> None:
        """Every error, because made-up numbers are seldom those that are too many."""
        one, small = document("a", num_sentences=1), DocumentLimits(num_bytes=10)
        self.all_agree(lambda store: store.create(one, [sentence(0)], DocumentLimits(documents=0)))
        self.all_agree(lambda store: store.create(one, [sentence(0)], small))
        self.all_agree(lambda store: store.update(one, one.version, [], DocumentLimits()))  # no newer version
        newer = dataclasses.replace(one, version=one.version + 2)
        self.all_agree(lambda store: store.update(newer, one.version, [], DocumentLimits()))  # of no document
        self.all_agree(lambda store: store.create(one, [sentence(0)], DocumentLimits()))
        self.all_agree(lambda store: store.update(newer, one.version + 1, [], DocumentLimits()))  # of another version
        self.all_agree(lambda store: store.delete("a"))

    @rule(
        name=NAMES, state=STATES, created=TIMES, touched=TIMES, count=st.integers(0, 3), model=MODEL,
        owner=OWNER, limits=LIMITS,
    )  # fmt: skip
    def create(
        self,
        name: str,
        state: DocumentState,
        created: float,
        touched: float,
        count: int,
        model: str,
        owner: str,
        limits: DocumentLimits,
    ) -> None:
        new = document(
            name, state=state, created=created, touched=touched, num_sentences=count, model=model, owner=owner
        )
        self.all_agree(lambda store: store.create(new, [sentence(index) for index in range(count)], limits))

    @rule(
        name=NAMES, state=STATES, touched=TIMES, off_by=st.sampled_from([0, 0, 0, 1, -1]),
        indices=st.lists(st.integers(-1, 5), max_size=3), grows=st.integers(0, 2), rises=st.integers(0, 2),
        limits=LIMITS,
    )  # fmt: skip
    def update(
        self,
        name: str,
        state: DocumentState,
        touched: float,
        off_by: int,
        indices: list[int],
        grows: int,
        rises: int,
        limits: DocumentLimits,
    ) -> None:
        current = self.outcome(lambda store: store.document(name), self.stores[0])
        base = current if isinstance(current, Document) else document(name)
        changed = dataclasses.replace(
            base, state=state, touched=touched, version=base.version + rises, num_sentences=base.num_sentences + grows
        )
        sentences: list[Sentence] = [sentence(index, f"new {index}") for index in indices]
        self.all_agree(lambda store: store.update(changed, base.version + off_by, sentences, limits))

    @rule(name=NAMES, limits=LIMITS, length=st.integers(0, 2000))
    def append(self, name: str, limits: DocumentLimits, length: int) -> None:
        current = self.outcome(lambda store: store.document(name), self.stores[0])
        if isinstance(current, Document):
            at = current.num_sentences
            longer = dataclasses.replace(current, version=current.version + 1, num_sentences=at + 1)
            self.all_agree(lambda store: store.update(longer, current.version, [sentence(at, "a" * length)], limits))

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        self.all_agree(lambda store: store.delete(name))

    @rule(worker=WORKERS, lease=LEASES, models=MODELS)
    def claim(self, worker: str, lease: float, models: list[str]) -> None:
        self.all_agree(lambda store: store.claim(worker, lease, models))

    @rule(name=NAMES, worker=WORKERS, lease=LEASES)
    def renew(self, name: str, worker: str, lease: float) -> None:
        self.all_agree(lambda store: store.renew(name, worker, lease))

    @rule(older_than=TIMES, models=MODELS)
    def expire(self, older_than: float, models: list[str]) -> None:
        self.all_agree(lambda store: store.expire(older_than, models))

    @rule(
        owner=st.none() | OWNER, limit=st.integers(0, 3), after=st.none() | st.builds(Cursor, TIMES, NAMES),
        state=st.none() | STATES,
    )  # fmt: skip
    def page(self, owner: str | None, limit: int, after: Cursor | None, state: DocumentState | None) -> None:
        self.all_agree(lambda store: store.page(owner, limit, after, state))
        pages = self.all_agree(lambda store: [store.page(owner, 9, None, state) for state in DOCUMENT_STATES])
        assert [
            {document.state for document in page} - {state} for page, state in zip(pages, DOCUMENT_STATES, strict=True)
        ] == [set()] * 4

    @rule(names=st.lists(NAMES, unique=True))
    def versions(self, names: list[str]) -> None:
        self.all_agree(lambda store: store.versions(names))

    @rule(name=NAMES, after=st.builds(ChangePlace, st.integers(-1, 6), st.integers(-1, 5)), limit=st.integers(0, 4))
    def changes(self, name: str, after: ChangePlace, limit: int) -> None:
        self.all_agree(lambda store: store.changes(name, after, limit))
        self.all_agree(lambda store: [place for place, _ in store.changes(name, FIRST_CHANGE, 9).sentences])

    @rule(former=OWNER, owner=OWNER)
    def rename_owner(self, former: str, owner: str) -> None:
        self.all_agree(lambda store: store.rename_owner(former, owner))

    @rule(name=NAMES, start=st.integers(-1, 4), end=st.none() | st.integers(-1, 4))
    def read_range(self, name: str, start: int, end: int | None) -> None:
        self.all_agree(lambda store: store.sentences(name, start, end))
        self.all_agree(lambda store: store.read(name, start, end))

    @invariant()
    def everything_is_the_same(self) -> None:
        self.all_agree(lambda store: store.count())
        for name in KEPT:
            self._same_document(name)
        results = [self.outcome(lambda store, name=name: store.document(name), self.stores[0]) for name in KEPT]  # type: ignore[misc]
        kept = sorted(
            (kept for kept in results if isinstance(kept, Document)), key=lambda kept: (kept.created, kept.id)
        )
        for owner in (None, "", "shop", "desk"):
            of_owner = [document for document in kept[::-1] if owner in (None, document.owner)]
            assert self.all_agree(lambda store, owner=owner: store.page(owner, 9)) == of_owner  # type: ignore[misc]

    def _same_document(self, name: str) -> None:
        self.all_agree(lambda store: (store.document(name), store.sentences(name), store.read(name)))


def test_all_stores_agree(redis_port: int) -> None:
    agreed = all_outcomes(Stores, redis_port, 100)
    assert any(isinstance(outcome, tuple) and outcome and isinstance(outcome[0], Document) for outcome in agreed)


def test_the_comparison_notices(redis_port: int) -> None:
    """A store that differs fails the test above."""

    class Forgetful(Stores):
        def __init__(self) -> None:
            super().__init__()
            self.stores[1].expire = lambda older_than, models: 0  # type: ignore[method-assign]

    machine = type("ForgetfulOnPort", (Forgetful,), {"redis_port": redis_port})()
    machine.create("a", "done", 1.0, 1.0, 1, "tiny", "", DocumentLimits())
    with pytest.raises(AssertionError):
        machine.expire(5.0, [])
    machine.teardown()

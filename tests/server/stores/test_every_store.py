"""What every store promises."""

import contextlib
import dataclasses
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.stores.interface import Conflict, ContextStore, StoreError, UnknownDocument
from server.stores.limits import DocumentLimits, StoreFull
from server.stores.open_store import open_store
from server.stores.records import Leg, Part, Sentence
from tests.children import PATIENCE
from tests.server.documents.some import SERVED, document, keep, sentence

ODD_TEXT = "a\0b \ud800 \N{ROCKET}\u2028\r\n\"'\\ {} NULL"


def test_what_is_kept_comes_back(store: ContextStore) -> None:
    kept = document(
        "a_-9",
        num_sentences=3,
        num_places=4,
        revision=5,
        owner="shop",
        num_pending=2,
        end=ODD_TEXT,
        options={"beam_size": 2, "nested": [1.5, None, ODD_TEXT]},
        legs=(Leg("tiny", "f00d", ODD_TEXT), Leg("other", "beef", "fr")),
    )
    sentences = [
        sentence(0, ODD_TEXT, gap=ODD_TEXT),
        Sentence(1, "", (), "", ODD_TEXT, -0.1, "eos", True, True, 3, ((0, 1 / 3), (9, 1e-30))),
        sentence(2, parts=(Part((5, 3), (6, 7), (), (0, 4)), Part((8, 3))), origin=sentence(2, ODD_TEXT, version=2)),
    ]
    store.create(kept, sentences[::-1])
    assert store.document("a_-9") == kept
    assert store.sentences("a_-9") == sentences
    assert store.read("a_-9") == (kept, sentences)
    assert store.count() == 1


@pytest.mark.parametrize(
    ("start", "end", "found"),
    [(0, None, [0, 1, 2]), (1, 2, [1]), (1, 9, [1, 2]), (3, None, []), (2, 1, []), (0, 0, [])],
)
def test_a_range_of_sentences(store: ContextStore, start: int, end: int | None, found: list[int]) -> None:
    keep(store, num_sentences=3)
    assert [sentence.index for sentence in store.sentences("first", start, end)] == found


@pytest.mark.parametrize("name", ["other", "", "a b", "../x", "x" * 1000, "nul\0", "*", "fir\u017ft"])
def test_unknown_and_impossible_ids_are_the_same(store: ContextStore, name: str) -> None:
    keep(store)
    for call in (
        lambda: store.document(name),
        lambda: store.sentences(name),
        lambda: store.read(name),
        lambda: store.delete(name),
        lambda: store.renew(name, "w", 1),
        lambda: store.update(document(name, version=2), 1),
    ):
        with pytest.raises(UnknownDocument):
            call()


def test_update_replaces_and_appends(store: ContextStore) -> None:
    kept = keep(store, num_sentences=2)
    changed = dataclasses.replace(kept, version=2, num_sentences=3, state="done", touched=11.0)
    store.update(changed, 1, [sentence(2, "New."), sentence(0, "Corrected.")])
    assert store.document("first") == changed
    assert [sentence.source for sentence in store.sentences("first")] == ["Corrected.", "Yes.", "New."]


def test_an_update_that_does_not_fit_changes_nothing(store: ContextStore) -> None:
    kept = keep(store, num_sentences=2)
    newer = dataclasses.replace(kept, version=2)
    with pytest.raises(Conflict, match="version 1, not 7"):
        store.update(dataclasses.replace(kept, version=8), 7)
    with pytest.raises(ValueError, match="must be above"):
        store.update(kept, 1)
    with pytest.raises(ValueError, match="leave a gap"):
        store.update(dataclasses.replace(newer, num_sentences=4), 1, [sentence(0, "X"), sentence(3)])
    with pytest.raises(ValueError, match="num_sentences"):
        store.update(newer, 1, [sentence(0, "X"), sentence(2)])
    with pytest.raises(ValueError, match="given twice"):
        store.update(newer, 1, [sentence(0, "X"), sentence(0)])
    assert store.document("first") == kept
    assert [sentence.source for sentence in store.sentences("first")] == ["Yes.", "Yes."]


def test_an_id_is_taken_once(store: ContextStore) -> None:
    keep(store)
    with pytest.raises(Conflict, match="exists already"):
        store.create(document(), [])
    store.delete("first")
    keep(store, num_sentences=1)
    assert len(store.sentences("first")) == 1


def test_the_oldest_is_claimed_first_and_by_one_worker_only(store: ContextStore) -> None:
    keep(store, "young", created=3.0)
    keep(store, "old", created=1.0)
    keep(store, "done", created=0.0, state="done")
    claimed = [store.claim("w", 100, SERVED) for _ in range(3)]
    assert [document and (document.id, document.state, document.version) for document in claimed] == [
        ("old", "running", 2),
        ("young", "running", 2),
        None,
    ]
    assert store.document("old") == claimed[0]


def test_a_lease_that_ran_out_is_claimed_again(store: ContextStore) -> None:
    keep(store)
    assert store.claim("gone", 0, SERVED)
    second = store.claim("next", 100, SERVED)
    assert second is not None
    assert second.version == 3
    assert not store.renew("first", "gone", 100)
    assert store.renew("first", "next", 100)
    assert store.claim("third", 100, SERVED) is None
    with pytest.raises(Conflict):  # what the one that is gone still writes
        store.update(dataclasses.replace(second, version=4), 2)


def test_a_lease_survives_updates_until_the_document_rests(store: ContextStore) -> None:
    keep(store)
    claimed = store.claim("w", 100, SERVED)
    assert claimed is not None
    store.update(dataclasses.replace(claimed, version=3), 2)
    assert store.claim("other", 100, SERVED) is None
    assert store.renew("first", "w", 100)
    store.update(dataclasses.replace(claimed, version=4, state="queued"), 3)
    assert not store.renew("first", "w", 100)
    assert store.claim("other", 100, SERVED) is not None


def test_what_rests_expires(store: ContextStore) -> None:
    for name, state, touched in (("a", "done", 5.0), ("b", "failed", 7.0), ("c", "queued", 1.0), ("d", "done", 6.0)):
        keep(store, name, 2, state=state, touched=touched)
    assert store.expire(6.0, SERVED) == 1
    assert store.expire(6.0, SERVED) == 0
    assert store.count() == 3
    with pytest.raises(UnknownDocument):
        store.document("a")
    assert store.expire(100.0, SERVED) == 2
    assert store.document("c").state == "queued"


def test_only_documents_of_the_requested_models_are_claimed(store: ContextStore) -> None:
    for index, model in enumerate(("one", "two", "one", "three")):
        keep(store, f"d{index}", created=float(index), model=model)
    assert store.claim("w", 100, []) is None
    claimed = [store.claim("w", 0, ["two", "three"]) for _ in range(2)]
    assert [document and document.id for document in claimed] == ["d1", "d1"]  # its lease is over at once
    claimed = [store.claim("w", 100, ["two", "three"]) for _ in range(3)]
    assert [document and document.id for document in claimed] == ["d1", "d3", None]
    assert [store.document(f"d{index}").state for index in range(4)] == ["queued", "running", "queued", "running"]


def test_documents_that_wait_for_a_model_that_is_not_served_expire(store: ContextStore) -> None:
    for created, (name, model) in enumerate(
        (("leased", "another"), ("left", "another"), ("theirs", "another"), ("ours", SERVED[0]))
    ):
        keep(store, name, model=model, touched=5.0, created=float(created), num_sentences=1)
    claimed = [store.claim("w", lease, ["another"]) for lease in (100, 0)]
    assert [document and document.id for document in claimed] == ["leased", "left"]
    assert store.expire(4.0, SERVED) == 0
    assert store.expire(6.0, [*SERVED, "another"]) == 0
    assert store.expire(6.0, SERVED) == 2
    assert [store.document(name).state for name in ("leased", "ours")] == ["running", "queued"]


def test_many_expire_at_once(store: ContextStore) -> None:
    for index in range(230):
        keep(store, f"d{index}", state="done", touched=1.0)
    assert store.expire(2.0, SERVED) == 230
    assert store.count() == 0


def test_concurrent_updates_are_each_whole(store: ContextStore) -> None:
    """Every thread appends; each append that succeeds is there, in one place."""
    keep(store)

    def append(worker: int) -> None:
        for _ in range(10):
            while True:
                current = store.document("first")
                at = current.num_sentences
                longer = dataclasses.replace(current, version=current.version + 1, num_sentences=at + 1)
                try:
                    store.update(longer, current.version, [sentence(at, str(worker))])
                    break
                except Conflict:
                    continue

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(append, range(4)))
    sources = [sentence.source for sentence in store.sentences("first")]
    assert sorted(sources) == sorted([str(worker) for worker in range(4)] * 10)
    assert store.document("first").version == 41


def test_concurrent_claims_share_the_work(store: ContextStore) -> None:
    for index in range(40):
        keep(store, f"d{index}")
    start = threading.Barrier(4, timeout=PATIENCE)

    def claim_all(worker: int) -> list[str]:
        start.wait()
        claimed = []
        while (first := store.claim(str(worker), 100, SERVED)) is not None:
            claimed.append(first.id)
        return claimed

    with ThreadPoolExecutor(4) as pool:
        claimed = [name for names in pool.map(claim_all, range(4)) for name in names]
    assert sorted(claimed) == sorted(f"d{index}" for index in range(40))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at_most=st.integers(0, 12), num_kept=st.integers(0, 3))
def test_concurrent_creations_keep_to_the_bound(
    store: ContextStore, store_url: str, at_most: int, num_kept: int
) -> None:
    """Threads of this process and, where the store is shared, of another one that has it open as well."""
    store.expire(float("inf"), SERVED)
    for index in range(num_kept):
        keep(store, f"kept{index}", state="done")
    other = store if store_url == "memory://" else open_store(store_url)
    start = threading.Barrier(8, timeout=PATIENCE)

    def create(worker: int) -> int:
        mine, created = (store, other)[worker % 2], 0
        mine.count()  # what it opens on first use is open
        start.wait()
        for index in range(3):
            with contextlib.suppress(StoreFull):
                mine.create(document(f"new{worker}-{index}", state="done"), [], DocumentLimits(documents=at_most))
                created += 1
        return created

    switch_interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            created = sum(pool.map(create, range(8)))
    finally:
        sys.setswitchinterval(switch_interval)
    assert created == min(24, max(0, at_most - num_kept))
    assert store.count() == num_kept + created
    if other is not store:
        other.close()


def test_a_closed_store_says_so(store: ContextStore) -> None:
    store.close()
    for call in (store.count, lambda: store.document("first"), lambda: store.claim("w", 1, SERVED)):
        with pytest.raises(StoreError, match="was closed"):
            call()


def test_a_durable_store_is_there_for_others(store: ContextStore, store_url: str) -> None:
    kept = keep(store, num_sentences=2)
    other = open_store(store_url)
    try:
        if store_url != "memory://":
            assert other.document("first") == kept
            assert other.claim("other", 100, SERVED) is not None
            assert store.claim("mine", 100, SERVED) is None
        else:
            assert other.count() == 0
    finally:
        other.close()

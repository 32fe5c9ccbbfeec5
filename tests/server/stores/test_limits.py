"""How much is kept, of one owner and of all."""

import dataclasses
import gc
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import pytest

from server.stores.interface import ContextStore
from server.stores.limits import GROWTH, Bound, DocumentLimits, StoreFull, TooLargeToKeep, Usage
from server.stores.memory import MemoryStore
from server.stores.records import Document, Part, Sentence
from tests.children import PATIENCE
from tests.server.documents.some import SERVED, document, keep, sentence

BIG = "x" * 10_000
ROOM = 10 * GROWTH * 11_000


def create(store: ContextStore, name: str, limits: DocumentLimits, **changes: object) -> None:
    store.create(document(name, num_sentences=1, **changes), [sentence(0, BIG)], limits)


@pytest.mark.parametrize(
    ("limits", "bound", "others"),
    [
        (DocumentLimits(owner_documents=2), "owner_documents", True),
        (DocumentLimits(owner_open=2), "owner_open", True),
        (DocumentLimits(owner_bytes=2 * GROWTH * 11_000), "owner_bytes", True),
        (DocumentLimits(documents=2), "documents", False),
        (DocumentLimits(num_bytes=2 * GROWTH * 11_000), "num_bytes", False),
    ],
)
def test_the_limit_of_one_owner_is_reached_by_others_only_if_it_is_the_limit_of_all(
    store: ContextStore, limits: DocumentLimits, bound: Bound, others: bool
) -> None:
    for index in range(2):
        create(store, f"d{index}", limits, owner="shop")
    with pytest.raises(StoreFull, match="DELETE /v1/documents/ID") as full:
        create(store, "d2", limits, owner="shop")
    assert full.value.bound == bound
    if others:
        create(store, "theirs", limits, owner="desk")
    else:
        with pytest.raises(StoreFull):
            create(store, "theirs", limits, owner="desk")
    store.delete("d0")
    create(store, "d2", limits, owner="shop")


def test_what_is_translated_counts_for_what_it_takes(store: ContextStore) -> None:
    """While it waits it is charged for what it will take, so that what was admitted fits when it is done."""
    limits = DocumentLimits(owner_bytes=GROWTH * 11_000 + 11_000)
    create(store, "a", limits, owner="shop")
    with pytest.raises(StoreFull):
        create(store, "b", limits, owner="shop")
    kept = store.document("a")
    store.update(dataclasses.replace(kept, state="done", version=2), 1, [sentence(0, BIG, translation=BIG)])
    with pytest.raises(StoreFull):  # twice as large as before, and no more than that
        create(store, "b", limits, owner="shop")
    create(store, "b", DocumentLimits(owner_bytes=GROWTH * 11_000 + 22_000), owner="shop")


def test_a_document_grows_up_to_the_bound(store: ContextStore) -> None:
    """Sentence by sentence, as online documents do; what makes it smaller is always taken."""
    kept = keep(store, state="done", owner="shop")
    limits = DocumentLimits(owner_bytes=50_000)
    for number in range(4):
        kept = longer(kept)
        store.update(kept, kept.version - 1, [sentence(number, BIG)], limits)
    too_long = longer(kept)
    with pytest.raises(TooLargeToKeep):
        store.update(too_long, kept.version, [sentence(4, BIG)], limits)
    keep(store, "other", 1, state="done", owner="shop")
    grown = dataclasses.replace(kept, version=kept.version + 1)
    with pytest.raises(StoreFull):
        store.update(grown, kept.version, [sentence(0, "x" * 18_500)], limits)
    assert store.document("first") == kept
    store.update(grown, kept.version, [sentence(0, "short")], DocumentLimits(owner_bytes=1))


def longer(one: Document) -> Document:
    return dataclasses.replace(one, version=one.version + 1, num_sentences=one.num_sentences + 1)


def test_a_document_that_would_never_fit_is_refused_as_too_large(store: ContextStore) -> None:
    for limits in (DocumentLimits(owner_bytes=10_000), DocumentLimits(num_bytes=10_000)):
        with pytest.raises(TooLargeToKeep, match="several documents"):
            create(store, "a", limits, owner="shop")
    assert store.count() == 0


def test_when_there_is_room_again(store: ContextStore) -> None:
    """The first finished document of those that count gives the time."""
    keep(store, "open", touched=1.0, owner="shop")
    keep(store, "theirs", touched=20.0, owner="desk", state="done")
    keep(store, "mine", touched=50.0, owner="shop", state="failed")
    for limits, then in (
        (DocumentLimits(owner_documents=2, expires_after=100.0), 150.0),
        (DocumentLimits(documents=3, expires_after=100.0), 120.0),
    ):
        with pytest.raises(StoreFull) as full:
            keep_one_more(store, limits)
        assert full.value.frees_at == then
        assert [full.value.seconds_left(now) for now in (0.0, then - 0.5, then + 9)] == [int(then), 1, 1]
    with pytest.raises(StoreFull) as full:
        keep_one_more(store, DocumentLimits(owner_open=1, expires_after=100.0))
    assert 1 < full.value.seconds_left(0.0) < 100


def keep_one_more(store: ContextStore, limits: DocumentLimits) -> None:
    store.create(document("more", owner="shop"), [], limits)


def test_no_more_come_to_be_however_many_come_at_once(store: ContextStore) -> None:
    limits, at_once = DocumentLimits(owner_documents=5, documents=8), threading.Barrier(12, timeout=PATIENCE)

    def create_one(number: int) -> str | None:
        owner = "shop" if number % 3 else "desk"
        at_once.wait()
        try:
            store.create(document(f"d{number}", owner=owner), [], limits)
        except StoreFull:
            return None
        return owner

    with ThreadPoolExecutor(12) as pool:
        made = list(pool.map(create_one, range(12)))
    assert (made.count("shop"), made.count("desk")) in {(5, 3), (4, 4)}
    assert (len(store.page("shop", 99)), store.count()) == (made.count("shop"), 8)


def test_what_is_gone_no_longer_counts(store: ContextStore) -> None:
    """Whichever way it went."""
    limits = DocumentLimits(owner_documents=2, owner_bytes=ROOM, num_bytes=ROOM)
    for _ in range(4):
        create(store, "deleted", limits, owner="shop")
        create(store, "expired", limits, owner="shop", state="done", touched=1.0)
        store.delete("deleted")
        assert store.expire(5.0, SERVED) == 1
    create(store, "a", limits, owner="former:1")
    create(store, "b", limits, owner="former:1")
    store.rename_owner("former:1", "shop")
    with pytest.raises(StoreFull):
        create(store, "c", limits, owner="shop")
    create(store, "c", limits, owner="former:1")


def test_memory_takes_what_it_counts() -> None:
    """A document of 500,000 characters, half of its room ids: what is counted is what the process grows by, within a
    quarter."""
    ids = tuple(range(1000, 1080))
    sentences = [
        Sentence(index, "x" * 250, (Part(ids, ids, None, (0, 250)),), " ", "y" * 250, -1.5, "eos", version=2)
        for index in range(2000)
    ]
    gc.collect()
    tracemalloc.start()
    store = MemoryStore()
    store.create(document(num_sentences=2000, state="done"), sentences)
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    counted = store._usage[None].num_bytes
    assert counted <= taken <= 1.25 * counted


def test_a_document_that_does_not_grow_is_never_refused() -> None:
    """Even where it is larger than limits that were lowered since."""
    limits, everything = DocumentLimits(owner_bytes=10, num_bytes=10), Usage(1, 1, 500)
    assert limits.outgrown(everything, everything, 500, 500) is None
    assert limits.outgrown(everything, everything, 500, 499) is None
    with pytest.raises(TooLargeToKeep):
        limits.outgrown(everything, everything, 500, 501)

"""Owners take turns."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.stores.fair_order import Candidate, tags_after
from server.stores.interface import ContextStore
from server.stores.memory import MemoryStore
from tests.server.documents.some import SERVED, keep

SIZES = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), min_size=1, max_size=30)


def claimed(store: ContextStore, times: int) -> list[str]:
    results = [store.claim("w", 100, SERVED) for _ in range(times)]
    return [claimed.id for claimed in results if claimed is not None]


def test_an_owner_of_many_documents_does_not_delay_an_owner_of_one(store: ContextStore) -> None:
    for index in range(6):
        keep(store, f"many{index}", 1, created=float(index), owner="many")
    keep(store, "one", 1, created=50.0, owner="one")
    keep(store, "two", 1, created=60.0, owner="two")
    assert claimed(store, 5) == ["many0", "one", "two", "many1", "many2"]


def test_turns_go_by_sentences(store: ContextStore) -> None:
    for index in range(3):
        keep(store, f"long{index}", 4, created=float(index), owner="long")
    for index in range(12):
        keep(store, f"short{index:02}", 1, created=100.0 + index, owner="short")
    order = claimed(store, 15)
    assert [name[:-1] for name in order[:6]] == ["long", "short0", "short0", "short0", "short0", "long"]
    assert sorted(order) == [f"long{i}" for i in range(3)] + [f"short{i:02}" for i in range(12)]


def test_nobody_saves_up_turns(store: ContextStore) -> None:
    """Who comes late begins where the others are, neither before nor after them."""
    for index in range(10):
        keep(store, f"early{index}", 5, created=float(index), owner="early")
    claimed(store, 5)
    for index in range(10):
        keep(store, f"late{index}", 5, created=50.0 + index, owner="late")
    assert Counter(name[:-1] for name in claimed(store, 6)) == {"early": 3, "late": 3}


def test_documents_of_other_models_take_no_turns(store: ContextStore) -> None:
    keep(store, "theirs", 1, created=0.0, owner="shop", model="another")
    keep(store, "ours", 1, created=1.0, owner="shop")
    assert claimed(store, 2) == ["ours"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sizes=SIZES)
def test_owners_with_work_are_served_the_same(sizes: list[tuple[str, int]]) -> None:
    """As long as two owners have something queued, neither is ahead by more than a document of each."""
    store = MemoryStore()
    waiting: Counter[str] = Counter()
    for index, (owner, size) in enumerate(sizes):
        keep(store, f"d{index:02}", size, created=float(index), owner=owner)
        waiting[owner] += 1
    largest = max(1, *(size for _, size in sizes))
    served: Counter[str] = Counter()
    seen: dict[str, list[str]] = {}
    while (first := store.claim("w", 100, SERVED)) is not None:
        served[first.owner] += max(1, first.num_sentences)
        waiting[first.owner] -= 1
        seen.setdefault(first.owner, []).append(first.id)
        busy = [owner for owner in waiting if waiting[owner] > 0]
        assert all(abs(served[a] - served[b]) <= 2 * largest for a in busy for b in busy)
    assert {owner: sorted(names) for owner, names in seen.items()} == seen, "of one owner the oldest come first"
    assert sum(map(len, seen.values())) == len(sizes)


@pytest.mark.parametrize("former", ["", "former:abc"])
def test_documents_of_one_owner_become_those_of_another(store: ContextStore, former: str) -> None:
    for index, state in enumerate(("queued", "running", "done", "failed")):
        keep(store, f"d{index}", 1, state=state, owner=former, created=float(index))
    keep(store, "own", 1, owner="shop", created=9.0)
    store.rename_owner(former, "shop")
    store.rename_owner("nobody", "shop")
    assert [document.id for document in store.page("shop", 9)] == ["own", "d3", "d2", "d1", "d0"]
    assert store.page(former, 9) == []
    assert {store.document(f"d{index}").owner for index in range(4)} == {"shop"}
    assert claimed(store, 9) == ["d0", "d1", "own"]


def test_a_claim_of_a_document_without_sentences_is_a_turn(store: ContextStore) -> None:
    assert tags_after(Candidate("many", 0.0, "a", 0), {}, 5) == (5, 6)
    for index in range(3):
        keep(store, f"empty{index}", 0, created=float(index), owner="many")
    keep(store, "one", 1, created=50.0, owner="one")
    assert claimed(store, 2) == ["empty0", "one"]

"""Translation memories in every kind of store; memory is the slow, plain reference of the others."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import redis
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from server.stores.interface import ContextStore, StoreError
from server.stores.open_store import open_store
from server.stores.translation_memories import (
    MOST_DELETED,
    MOST_WRITTEN,
    KeptEntry,
    KeptMemory,
    MemoriesFull,
    MemoryLimits,
    MemoryTaken,
    TranslationMemoryStore,
    UnknownEntry,
    UnknownMemory,
    deleted_since,
)
from tests.children import PATIENCE
from tests.server.stores.agreeing import AgreeingStores, all_outcomes
from tests.server.stores.test_growth import MAX_GROWTH, CountedSqlite

MANY = MemoryLimits(100, 10_000, 10**7, 10**8)
OWNER_NAMES = ("", "shop", "former:desk")
OWNERS = st.sampled_from(OWNER_NAMES)
IDS = st.sampled_from(["a", "b"])
ENTRY_IDS = st.sampled_from(["1", "2", "3", "4"])
BODIES = st.sampled_from(["", "1", "22", '{"source": "\\u00e4"}'])
ENTRIES = st.dictionaries(ENTRY_IDS, BODIES, max_size=4)
LIMITS = st.just(MANY) | st.builds(
    MemoryLimits, st.integers(1, 3), st.integers(0, 5), st.integers(0, 50), st.integers(0, 80)
)


class Stores(AgreeingStores):
    errors = (MemoriesFull, MemoryTaken, UnknownMemory, UnknownEntry)

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[tuple[int, str, str, str], dict[str, KeptEntry]] = {}
        """By store, owner, memory and generation: entries as they were read."""
        self.followed: dict[tuple[int, str, str], tuple[str, int, dict[str, KeptEntry]]] = {}
        """By store, owner and memory: a generation, the last write then, and the entries as they were read."""

    def part(self, store: ContextStore) -> TranslationMemoryStore:
        return store.translation_memories

    @initialize(owner=OWNERS, name=IDS, entries=ENTRIES)
    def begin(self, owner: str, name: str, entries: dict[str, str]) -> None:
        self.all_agree(lambda store: store.create(owner, name, "head", MANY))
        self.all_agree(lambda store: store.put(owner, name, entries | {"1": "1", "2": "2"}, MANY))

    @initialize()
    def refuse(self) -> None:
        """Every error, because made-up writes seldom meet what is kept."""
        other, none = "shop", MemoryLimits(0, 0, 0, 0)
        self.all_agree(lambda store: store.delete(other, "other"))
        self.all_agree(lambda store: store.create(other, "other", "head", none))
        self.all_agree(lambda store: store.create(other, "other", "head", MANY))
        self.all_agree(lambda store: store.create(other, "other", "head", MANY))
        self.all_agree(lambda store: store.remove(other, "other", "1"))
        self.all_agree(lambda store: store.delete(other, "other"))

    @rule(owner=OWNERS, name=IDS, head=BODIES, limits=LIMITS)
    def create(self, owner: str, name: str, head: str, limits: MemoryLimits) -> None:
        self.all_agree(lambda store: store.create(owner, name, head, limits))

    @rule(owner=OWNERS, name=IDS)
    def delete(self, owner: str, name: str) -> None:
        self.all_agree(lambda store: store.delete(owner, name))

    @rule(owner=OWNERS, name=IDS, entries=ENTRIES, limits=LIMITS)
    def put(self, owner: str, name: str, entries: dict[str, str], limits: MemoryLimits) -> None:
        self.all_agree(lambda store: store.put(owner, name, entries, limits))

    @rule(owner=OWNERS, name=IDS, entry=ENTRY_IDS)
    def remove(self, owner: str, name: str, entry: str) -> None:
        def remove(store: TranslationMemoryStore) -> None:
            before = store.find(owner, name).generation
            assert store.remove(owner, name, entry) == (before, store.find(owner, name).generation)
            assert store.find(owner, name).generation != before

        self.all_agree(remove)

    @rule(owner=OWNERS, name=IDS, after=st.integers(0, 12), limit=st.integers(1, 3))
    def read_entries(self, owner: str, name: str, after: int, limit: int) -> None:
        self.all_agree(lambda store: store.entries(owner, name, after, limit))

    @rule(owner=OWNERS, name=IDS)
    def read_what_is_new(self, owner: str, name: str) -> None:
        """Within a generation, what was read before and the later writes are all entries."""
        for at, kind in enumerate(self.stores):
            store = kind.translation_memories
            kept = self.outcome(lambda store: store.find(owner, name), kind)
            if isinstance(kept, KeptMemory):
                known = self.seen.setdefault((at, owner, name, kept.generation), {})
                last = max((entry.number for entry in known.values()), default=0)
                known.update({entry.id: entry for entry in store.entries(owner, name, last, 100)})
                assert known == {entry.id: entry for entry in store.entries(owner, name, 0, 100)}

    @rule(owner=OWNERS, name=IDS)
    def follow(self, owner: str, name: str) -> None:
        """Over generations, what was read before, without what was deleted since, and the later writes are all."""
        for at, kind in enumerate(self.stores):
            store = kind.translation_memories
            kept = self.outcome(lambda store: store.find(owner, name), kind)
            if not isinstance(kept, KeptMemory):
                continue
            generation, last, known = self.followed.get((at, owner, name), (kept.generation, 0, {}))
            deleted = deleted_since(generation, kept.generation)
            if deleted is None:
                last, known = 0, {}
            for entry_id in deleted or ():
                known.pop(entry_id, None)
            known.update({entry.id: entry for entry in store.entries(owner, name, last, 100)})
            assert known == {entry.id: entry for entry in store.entries(owner, name, 0, 100)}
            self.followed[at, owner, name] = kept.generation, kept.last, known

    @invariant()
    def everything_is_the_same(self) -> None:
        for owner in OWNER_NAMES:
            for name, memory in self.all_agree(lambda store, owner=owner: _shown(store.of_owner(owner))).items():  # type: ignore[misc]
                self.all_agree(lambda store, owner=owner, name=name: _shown({name: store.find(owner, name)}))  # type: ignore[misc]
                entries = self.all_agree(lambda store, owner=owner, name=name: store.entries(owner, name, 0, 100))  # type: ignore[misc]
                assert [entry.number for entry in entries] == sorted({entry.number for entry in entries})
                head, last, number, num_bytes = memory
                assert (number, num_bytes) == (len(entries), len(head) + sum(len(entry.body) for entry in entries))
                assert all(entry.number <= last for entry in entries)

    @invariant()
    def redis_counts_what_it_keeps(self) -> None:
        store = self.stores[0].translation_memories
        with redis.Redis(port=self.redis_port) as client:
            totals = [0, 0]
            for owner in OWNER_NAMES:
                kept = store.of_owner(owner).values()
                own = [sum(memory.entries for memory in kept), sum(memory.num_bytes for memory in kept)]
                counted = client.hmget(f"ringmt:memories_kept:{owner}", "entries", "size")
                assert [int(value or 0) for value in counted] == own
                totals = [totals[0] + own[0], totals[1] + own[1]]
            assert [int(value or 0) for value in client.hmget("ringmt:memories_kept", "entries", "size")] == totals


def _shown(memories: Any) -> dict[str, tuple[str, int, int, int]]:
    """Generations are random."""
    return {
        name: (memory.head, memory.last, memory.entries, memory.num_bytes) for name, memory in sorted(memories.items())
    }


def test_all_stores_agree(redis_port: int) -> None:
    agreed = all_outcomes(Stores, redis_port, 25)
    assert any(isinstance(item, list) and len(item) > 1 for item in agreed)


def test_memories_outlive_their_store_where_documents_do(store_url: str) -> None:
    first = open_store(store_url)
    first.translation_memories.create("shop", "a", "head", MANY)
    first.translation_memories.put("shop", "a", {"1": "body"}, MANY)
    first.close()
    with pytest.raises(StoreError, match="closed"):
        first.translation_memories.find("shop", "a")
    again = open_store(store_url)
    try:
        kept = again.translation_memories.of_owner("shop")
        assert list(kept) == ([] if store_url == "memory://" else ["a"])
        if kept:
            assert again.translation_memories.entries("shop", "a", 0, 9) == [KeptEntry("1", 1, "body")]
    finally:
        again.close()


def test_a_memory_that_is_created_again_has_another_generation(store: ContextStore) -> None:
    memories = store.translation_memories
    generations = set()
    for _ in range(2):
        memories.create("shop", "a", "head", MANY)
        generations.add(memories.find("shop", "a").generation)
        memories.put("shop", "a", {"1": "body"}, MANY)
        generations.add(memories.find("shop", "a").generation)
        memories.delete("shop", "a")
    assert len(generations) == 2


def test_a_generation_names_the_last_deletions(store: ContextStore) -> None:
    memories = store.translation_memories
    memories.create("shop", "a", "head", MANY)
    names = [f"e{number}" for number in range(2 * MOST_DELETED)]
    memories.put("shop", "a", dict.fromkeys(names, "body"), MANY)
    generations = [memories.find("shop", "a").generation]
    for name in names:
        generations.append(memories.remove("shop", "a", name).after)
    for first in range(0, len(generations), 7):
        for last in range(first, len(generations), 7):
            expected = names[first:last][::-1] if last - first <= MOST_DELETED else None
            found = deleted_since(generations[first], generations[last])
            assert (found if found is None else list(found)) == expected
    assert deleted_since(generations[9], generations[8]) is None
    assert deleted_since("other", generations[1]) is None
    assert max(map(len, generations)) < 50 + 4 * len(names)


def test_no_more_are_kept_however_many_come_at_once(store: ContextStore) -> None:
    limits, at_once = MemoryLimits(1, 5, 1000, 1000), threading.Barrier(12, timeout=PATIENCE)
    store.translation_memories.create("shop", "a", "", limits)

    def put(number: int) -> bool:
        at_once.wait()
        try:
            store.translation_memories.put("shop", "a", {str(number): "body"}, limits)
        except MemoriesFull:
            return False
        return True

    with ThreadPoolExecutor(12) as pool:
        assert sum(pool.map(put, range(12))) == 5
    entries = store.translation_memories.entries("shop", "a", 0, 100)
    assert [entry.number for entry in entries] == [1, 2, 3, 4, 5]


def test_entries_that_are_written_again_and_again_leave_pages_as_they_are(store: ContextStore) -> None:
    memories = store.translation_memories
    memories.create("shop", "a", "", MANY)
    for number in range(200):
        memories.put("shop", "a", {str(number % 3): str(number)}, MANY)
        latest = [KeptEntry(str(at % 3), at + 1, str(at)) for at in range(max(0, number - 1), number + 1)]
        assert memories.entries("shop", "a", max(0, number - 1), 9) == latest
    assert memories.entries("shop", "a", 0, 2) == [
        KeptEntry("2", 198, "197"),
        KeptEntry("0", 199, "198"),
    ]
    with pytest.raises(ValueError, match="at most"):
        memories.put("shop", "a", {str(number): "" for number in range(MOST_WRITTEN + 1)}, MANY)


def test_operations_cost_the_same_with_few_and_many_entries(tmp_path: Path) -> None:
    """In steps of SQLite's virtual machine; a search of a tree takes one step more for twice as many."""
    costs = []
    for number in (400, 6_400):
        store = CountedSqlite(tmp_path / f"{number}.db")
        memories = store.translation_memories
        memories.create("shop", "a", "", MANY)
        for owner in range(number // 40):
            memories.create(f"o{owner}", "a", "", MANY)
        for start in range(0, number, 400):
            memories.put("shop", "a", {str(at): "x" for at in range(start, start + 400)}, MANY)
        calls: list[Callable[[], object]] = [
            lambda memories=memories: memories.find("shop", "a"),  # type: ignore[misc]
            lambda memories=memories, number=number: memories.entries("shop", "a", number // 2, 10),  # type: ignore[misc]
            lambda memories=memories: memories.put("shop", "a", {"3": "y", "new": "z"}, MANY),  # type: ignore[misc]
            lambda memories=memories: memories.remove("shop", "a", "7"),  # type: ignore[misc]
        ]
        costs.append([store.cost_of(call) for call in calls])
        store.close()
    few, many = costs
    assert all(0 < more < MAX_GROWTH * less for less, more in zip(few, many, strict=True)), costs

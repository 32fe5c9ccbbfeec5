"""The service and its indexes, compared with a dictionary, in every kind of store and beside another process."""

import asyncio
import random
import threading

import pytest

from server.stores.interface import ContextStore
from server.stores.open_store import open_store
from server.stores.translation_memories import (
    MOST_DELETED,
    KeptEntry,
    MemoriesFull,
    MemoryLimits,
    UnknownEntry,
    UnknownMemory,
)
from server.translation_memory import entries as entries_module
from server.translation_memory import service as service_module
from server.translation_memory.entries import Entry, Origin, encoded
from server.translation_memory.index import MemoryIndex
from server.translation_memory.index_cache import CachedIndex, IndexCache
from server.translation_memory.pairs import Pair
from server.translation_memory.segments import entry_id, normalized
from server.translation_memory.service import Added, TranslationMemoryService

LIMITS = MemoryLimits(10, 10_000, 10**7, 10**8)
NO_ID = "00000000-0000-4000-8000-000000000000"


def test_indexes_follow_all_writes(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two services of one store (two processes, where it is not memory) add, replace and delete by turns."""
    monkeypatch.setattr(service_module, "MOST_WRITTEN", 3)
    store = open_store(store_url)
    other = store if store_url == "memory://" else open_store(store_url)
    services = [TranslationMemoryService(opened.translation_memories, LIMITS) for opened in (store, other)]
    chance = random.Random(7)

    async def scenario() -> None:
        memory = await services[0].create("shop", "ours", "en", "de")
        model: dict[str, Pair] = {}
        sources = [f"sentence {number}" for number in range(12)]
        for step in range(150):
            service = chance.choice(services)
            if chance.random() < 0.7:
                pairs = [Pair(source, str(step)) for source in chance.sample(sources, chance.randint(1, 8))]
                added = await service.add("shop", memory.id, pairs, "manual")
                new = sum(pair.source not in model for pair in pairs)
                assert added == Added(new, len(pairs) - new)
                model |= {pair.source: pair for pair in pairs}
            else:
                source = chance.choice(sources)
                if source in model:
                    await service.remove("shop", memory.id, entry_id(normalized(source)))
                    del model[source]
                else:
                    with pytest.raises(UnknownEntry):
                        await service.remove("shop", memory.id, entry_id(normalized(source)))
            reader = chance.choice(services)
            found, index = await reader.index("shop", memory.id)
            assert (found.entries, len(index)) == (len(model), len(model))
            assert [index.exact(source) for source in sources] == [model.get(source) for source in sources]
            pages = [page async for page in reader.pages("shop", memory.id)]
            assert {pair.source: pair for page in pages for pair in page} == model

    try:
        asyncio.run(scenario())
    finally:
        for opened in {store, other}:
            opened.close()


def test_only_what_is_new_is_read(store: ContextStore, monkeypatch: pytest.MonkeyPatch) -> None:
    service = TranslationMemoryService(store.translation_memories, LIMITS)
    indexed: list[int] = []

    def add(index: MemoryIndex, pairs: list[Pair]) -> None:
        indexed.append(len(pairs))
        real(index, pairs)

    real = MemoryIndex.add
    monkeypatch.setattr(MemoryIndex, "add", add)

    async def scenario() -> None:
        memory = await service.create("", "ours", "en", "de")
        await service.add("", memory.id, [Pair(str(number), "x") for number in range(700)], "import")
        await asyncio.gather(*(service.index("", memory.id) for _ in range(5)))
        assert indexed == [500, 200]
        await service.add("", memory.id, [Pair("700", "x")], "manual")
        await service.remove("", memory.id, entry_id("3"))
        _, index = await service.index("", memory.id)
        assert indexed == [500, 200, 1]
        assert (index.exact("3"), index.exact("700")) == (None, Pair("700", "x"))
        for number in range(10, 500):
            await service.remove("", memory.id, entry_id(str(number)))
        assert len((await service.index("", memory.id))[1]) == 210
        assert sum(indexed) == 701 + 210, "an index with many removed entries is made anew, once"

    asyncio.run(scenario())


def test_deletions_by_another_process_are_followed_without_reading_all_again(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = [open_store(store_url)]
    stores += stores if store_url == "memory://" else [open_store(store_url)]
    service, other = (TranslationMemoryService(store.translation_memories, LIMITS) for store in stores)
    indexed: list[int] = []
    real = MemoryIndex.add

    def add(index: MemoryIndex, pairs: list[Pair]) -> None:
        indexed.append(len(pairs))
        real(index, pairs)

    monkeypatch.setattr(MemoryIndex, "add", add)

    async def scenario() -> None:
        memory = await service.create("", "ours", "en", "de")
        await service.add("", memory.id, [Pair(str(number), "x") for number in range(300)], "import")
        await service.index("", memory.id)
        for number in range(MOST_DELETED):
            await other.remove("", memory.id, entry_id(str(number)))
        await other.add("", memory.id, [Pair("1", "again")], "manual")
        _, index = await service.index("", memory.id)
        assert indexed == [300, 1]
        assert (len(index), index.exact("2"), index.exact("1")) == (300 - MOST_DELETED + 1, None, Pair("1", "again"))
        for number in range(100, 101 + MOST_DELETED):
            await other.remove("", memory.id, entry_id(str(number)))
        _, index = await service.index("", memory.id)
        assert indexed == [300, 1, len(index)], "so many deletions are not known one by one"

    try:
        asyncio.run(scenario())
    finally:
        for opened in {*stores}:
            opened.close()


def test_an_entry_that_is_deleted_and_written_again_while_it_is_read_is_found(
    store: ContextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = store.translation_memories
    service, other = (TranslationMemoryService(kept, LIMITS) for _ in range(2))
    read, name = kept.entries, entry_id("a")
    pending = [True]

    def entries(owner: str, memory: str, after: int, limit: int) -> list[KeptEntry]:
        if pending:
            pending.clear()
            kept.remove(owner, memory, name)
            kept.put(owner, memory, {name: encoded(Pair("a", "2"), "manual", 0.0)}, LIMITS)
        return read(owner, memory, after, limit)

    async def scenario() -> None:
        memory = await service.create("", "ours", "en", "de")
        await other.add("", memory.id, [Pair("a", "1"), Pair("b", "1")], "manual")
        monkeypatch.setattr(kept, "entries", entries)
        await service.index("", memory.id)
        _, index = await service.index("", memory.id)
        assert (index.exact("a"), index.exact("b")) == (Pair("a", "2"), Pair("b", "1"))

    asyncio.run(scenario())


def test_owners_do_not_see_each_other(store: ContextStore) -> None:
    service = TranslationMemoryService(store.translation_memories, LIMITS)

    async def scenario() -> None:
        async def first_page(owner: str, name: str) -> None:
            await anext(service.pages(owner, name))

        memory = await service.create("shop", "ours", "en", "de")
        await service.index("shop", memory.id)
        for call in (service.find, service.delete, service.index, first_page):
            for owner, name in (("desk", memory.id), ("shop", NO_ID), ("shop", "../x")):
                with pytest.raises(UnknownMemory):
                    await call(owner, name)
        await service.delete("shop", memory.id)
        with pytest.raises(UnknownMemory):
            await service.index("shop", memory.id)
        assert await service.of_owner("shop") == []

    asyncio.run(scenario())


def test_suggestions_at_the_same_time_share_a_memory(store: ContextStore) -> None:
    service = TranslationMemoryService(store.translation_memories, LIMITS)

    async def scenario() -> None:
        pairs = [Pair(str(number), "x") for number in range(8)]
        await asyncio.gather(*(service.suggest("shop", "en", "de", pair) for pair in pairs))
        await service.suggest("shop", "de", "en", pairs[0])
        memories = await service.of_owner("shop")
        assert [(memory.name, memory.languages, memory.entries) for memory in memories] == [
            ("Suggestions", ("en", "de"), 8),
            ("Suggestions", ("de", "en"), 1),
        ]
        [entry] = await service.entries("shop", memories[1].id, 0, 9)
        assert (entry.pair, entry.origin) == (pairs[0], "suggestion")

    asyncio.run(scenario())


def test_a_full_memory_says_how_much_it_kept(store: ContextStore) -> None:
    service = TranslationMemoryService(store.translation_memories, MemoryLimits(1, 600, 10**7, 10**8))

    async def scenario() -> None:
        memory = await service.create("shop", "ours", "en", "de")
        with pytest.raises(MemoriesFull, match=r"at most 600 entries .* not 700: .* \(500 of 700 entries were kept\)"):
            await service.add("shop", memory.id, [Pair(str(number), "x") for number in range(700)], "import")
        assert (await service.find("shop", memory.id)).entries == 500
        with pytest.raises(MemoriesFull, match="at most 1 translation memories"):
            await service.create("shop", "more", "en", "de")

    asyncio.run(scenario())


def test_the_cache_of_indexes_keeps_to_its_budget() -> None:
    index = MemoryIndex()
    index.add([Pair("a b c", "x")])
    cache = IndexCache(2 * index.num_bytes)
    for name in ("1", "2", "3"):
        cache.put(("", name), CachedIndex("g", index))
    assert [cache.get(("", name)) is not None for name in ("1", "2", "3")] == [False, True, True]
    cache.budget_bytes = 1
    cache.put(("", "2"), CachedIndex("g", index))
    assert [cache.get(("", name)) is not None for name in ("1", "2", "3")] == [False, True, False]


def test_long_targets_of_many_sources_are_written_in_portions(
    store: ContextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_module, "MOST_WRITTEN", 2)
    service = TranslationMemoryService(store.translation_memories, MemoryLimits(1, 100, 20_000, 10**8))
    pairs = [Pair(str(number), "x" * 4000) for number in range(50)]
    made: list[Pair] = []

    def encoded(pair: Pair, origin: Origin, created: float) -> str:
        made.append(pair)
        return real(pair, origin, created)

    real = entries_module.encoded
    monkeypatch.setattr(service_module, "encoded", encoded)

    async def scenario() -> None:
        memory = await service.create("", "ours", "en", "de")
        with pytest.raises(MemoriesFull, match="4 of 50 entries were kept"):
            await service.add("", memory.id, pairs, "import")

    asyncio.run(scenario())
    assert made == pairs[:6], "no more than one portion is in memory"


def test_entries_are_read_beside_the_event_loop(store: ContextStore, monkeypatch: pytest.MonkeyPatch) -> None:
    service = TranslationMemoryService(store.translation_memories, LIMITS)
    threads: list[threading.Thread] = []

    def decoded(name: str, number: int, body: str) -> Entry:
        threads.append(threading.current_thread())
        return real(name, number, body)

    real = entries_module.decoded
    monkeypatch.setattr(service_module, "decoded", decoded)

    async def scenario() -> None:
        memory = await service.create("", "ours", "en", "de")
        await service.add("", memory.id, [Pair("a", "b")], "manual")
        assert [entry.pair for entry in await service.entries("", memory.id, 0, 9)] == [Pair("a", "b")]

    asyncio.run(scenario())
    assert threads
    assert threading.current_thread() not in threads

"""The translation memories of a store, each visible to its owner only."""

import asyncio
import contextlib
import json
import re
import time
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final
from weakref import WeakValueDictionary

from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload_above
from server.stores.threads import in_store_thread
from server.stores.translation_memories import (
    MOST_WRITTEN,
    KeptMemory,
    MemoriesFull,
    MemoryLimits,
    MemoryTaken,
    TranslationMemoryStore,
    UnknownMemory,
    deleted_since,
)
from server.translation_memory.entries import Entry, Origin, decoded, encoded
from server.translation_memory.index import MemoryIndex
from server.translation_memory.index_cache import CachedIndex, IndexCache, MemoryKey
from server.translation_memory.pairs import Pair
from server.translation_memory.segments import entry_id, normalized

INDEX_BYTES: Final = 256 * 2**20
"""Memory for indexes; the one that was used last may be larger."""
SUGGESTIONS: Final = "Suggestions"
"""The name of the memories that keep suggestions."""
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_NAMESPACE = uuid.UUID("b0e4a3c2-7a55-5f0e-9d0c-3f2f6f1f8a71")


@dataclass(frozen=True)
class TranslationMemory:
    """Pairs of one source and one target language (lower case, without a region). `created`: seconds since 1970."""

    id: str
    name: str
    source: str
    target: str
    created: float
    entries: int = 0
    num_bytes: int = 0

    @property
    def languages(self) -> tuple[str, str]:
        return self.source, self.target


@dataclass(frozen=True)
class Added:
    """How many pairs became new entries, and how many replaced others of the same source."""

    new: int
    replaced: int


class TranslationMemoryService:
    """All methods raise StoreError, methods with an id UnknownMemory, methods that write MemoriesFull. Use it from one
    event loop."""

    def __init__(self, store: TranslationMemoryStore, limits: MemoryLimits) -> None:
        self._store, self._limits = store, limits
        self._indexes = IndexCache(INDEX_BYTES)
        self._refreshing: WeakValueDictionary[MemoryKey, asyncio.Lock] = WeakValueDictionary()
        """Held while the index of a memory is brought up to date."""

    @property
    def most_read(self) -> int:
        """Pairs that are read of one file: of a file with more, most could not be kept."""
        return 2 * self._limits.entries

    async def create(
        self, owner: str, name: str, source: str, target: str, memory_id: str | None = None
    ) -> TranslationMemory:
        """Raises MemoryTaken for an id that is taken."""
        new = TranslationMemory(memory_id or str(uuid.uuid4()), name, source, target, time.time())
        values = {"name": name, "source": source, "target": target, "created": new.created}
        head = json.dumps(values, separators=(",", ":"))
        await in_store_thread(lambda: self._store.create(owner, new.id, head, self._limits))
        return _memory(new.id, KeptMemory(head, "", 0, 0, len(head)))

    async def find(self, owner: str, memory_id: str) -> TranslationMemory:
        return _memory(memory_id, await in_store_thread(lambda: self._store.find(owner, _checked(memory_id))))

    async def of_owner(self, owner: str) -> list[TranslationMemory]:
        """The oldest first."""
        kept = await in_store_thread(lambda: self._store.of_owner(owner))
        memories = [_memory(memory_id, memory) for memory_id, memory in kept.items()]
        return sorted(memories, key=lambda memory: (memory.created, memory.id))

    async def delete(self, owner: str, memory_id: str) -> None:
        await in_store_thread(lambda: self._store.delete(owner, _checked(memory_id)))
        self._indexes.drop((owner, memory_id))

    async def add(self, owner: str, memory_id: str, pairs: Sequence[Pair], origin: Origin) -> Added:
        """Keep pairs; of those with the same normalised source, the last. They are written in portions: MemoriesFull
        says how many were kept before."""
        await self.find(owner, memory_id)
        latest = await offload_above(sum(len(pair.source) for pair in pairs), _latest, pairs)
        remaining, new, written = iter(latest.items()), 0, 0
        while portion := dict(islice(remaining, MOST_WRITTEN)):
            num_chars = sum(len(pair.source) + len(pair.target) for pair in portion.values())
            bodies = await offload_above(num_chars, _bodies, portion, origin)
            try:
                new += await in_store_thread(self._store.put, owner, memory_id, bodies, self._limits)
            except MemoriesFull as error:
                kept = f" ({written} of {len(latest)} entries were kept)" if written else ""
                raise MemoriesFull(f"{error}{kept}") from None
            written += len(portion)
        return Added(new, len(latest) - new)

    async def suggest(self, owner: str, source: str, target: str, pair: Pair) -> str:
        """Keep a suggestion in the owner's memory of suggestions for the two languages, which is made for the first;
        returns the memory's id."""
        memory_id = str(uuid.uuid5(_NAMESPACE, f"{source} {target}"))
        try:
            await self.add(owner, memory_id, [pair], "suggestion")
        except UnknownMemory:
            with contextlib.suppress(MemoryTaken):  # by a suggestion at the same time
                await self.create(owner, SUGGESTIONS, source, target, memory_id)
            await self.add(owner, memory_id, [pair], "suggestion")
        return memory_id

    async def entries(self, owner: str, memory_id: str, after: int, limit: int) -> list[Entry]:
        """Up to `limit` entries by their last write, after the write of number `after`."""
        checked = _checked(memory_id)

        def read() -> list[Entry]:  # a page may have all bytes that an owner may keep
            return [decoded(*entry) for entry in self._store.entries(owner, checked, after, limit)]

        return await in_store_thread(read)

    async def pages(self, owner: str, memory_id: str) -> AsyncGenerator[list[Pair], None]:
        """The pairs of all entries, by their last write, a part at a time."""
        after = 0
        while entries := await self.entries(owner, memory_id, after, MOST_WRITTEN):
            yield [entry.pair for entry in entries]
            after = entries[-1].number

    async def remove(self, owner: str, memory_id: str, name: str) -> None:
        """Delete an entry by its id. Raises UnknownEntry."""
        key = (owner, _checked(memory_id))
        async with self._lock(key):  # a page with the entry that was read before must not be indexed after
            changed = await in_store_thread(self._store.remove, owner, memory_id, name)
            cached = self._indexes.get(key)
            if cached is not None and cached.generation == changed.before:
                cached.index.remove(name)
                cached.generation = changed.after
            if cached is not None and cached.index.should_rebuild:
                self._indexes.drop(key)

    async def index(self, owner: str, memory_id: str) -> tuple[TranslationMemory, MemoryIndex]:
        """The memory and its index, with all entries that were written before. Only what was written since the last
        call is read, unless other processes deleted many entries meanwhile."""
        key = (owner, _checked(memory_id))
        async with self._lock(key):
            try:
                kept = await in_store_thread(self._store.find, owner, memory_id)
                cached = await self._refreshed(key, kept)
            except UnknownMemory:
                self._indexes.drop(key)
                raise
            self._indexes.put(key, cached)
        return _memory(memory_id, kept), cached.index

    def _lock(self, key: MemoryKey) -> asyncio.Lock:
        return self._refreshing.setdefault(key, asyncio.Lock())

    async def _refreshed(self, key: MemoryKey, kept: KeptMemory) -> CachedIndex:
        cached = self._indexes.get(key)
        if cached is not None and cached.generation != kept.generation:
            cached = _without_deleted(cached, kept.generation)
        if cached is None:
            cached = CachedIndex(kept.generation)
        while cached.last < kept.last:
            entries = await self.entries(*key, cached.last, MOST_WRITTEN)
            # Later ones may be written after a deletion that the next call sees, which is of those before it.
            entries = [entry for entry in entries if entry.number <= kept.last]
            if not entries:  # the last ones were deleted, or written again
                cached.last = kept.last
                break
            pairs = [entry.pair for entry in entries]
            await offload_above(sum(len(pair.source) for pair in pairs), cached.index.add, pairs)
            cached.last = entries[-1].number
        return cached


def _without_deleted(cached: CachedIndex, generation: str) -> CachedIndex | None:
    """The index of another generation; None where it is not known what was deleted, or a new one would be smaller."""
    deleted = deleted_since(cached.generation, generation)
    if deleted is None:
        return None
    for name in deleted:
        cached.index.remove(name)
    cached.generation = generation
    return None if cached.index.should_rebuild else cached


def _latest(pairs: Sequence[Pair]) -> dict[str, Pair]:
    """By entry id. The last of equal sources stays, in its place."""
    latest: dict[str, Pair] = {}
    for pair in pairs:
        checkpoint()
        name = entry_id(normalized(pair.source))
        latest.pop(name, None)
        latest[name] = pair
    return latest


def _bodies(portion: Mapping[str, Pair], origin: Origin) -> dict[str, str]:
    """Entries as they are kept. A unit of TMX may have one long target for many sources: all bodies together may be a
    thousand times as long as its file."""
    bodies: dict[str, str] = {}
    created = time.time()
    for name, pair in portion.items():
        checkpoint()
        bodies[name] = encoded(pair, origin, created)
    return bodies


def _memory(memory_id: str, kept: KeptMemory) -> TranslationMemory:
    return TranslationMemory(memory_id, **json.loads(kept.head), entries=kept.entries, num_bytes=kept.num_bytes)


def _checked(memory_id: str) -> str:
    """The id. Raises UnknownMemory for one that no memory has."""
    if not _ID.fullmatch(memory_id):
        raise UnknownMemory
    return memory_id

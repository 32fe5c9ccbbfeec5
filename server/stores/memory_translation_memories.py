"""Translation memories in this process: gone when it ends, seen by no other."""

import uuid
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from server.stores.translation_memories import (
    Generations,
    Kept,
    KeptEntry,
    KeptMemory,
    MemoryLimits,
    MemoryTaken,
    UnknownEntry,
    UnknownMemory,
    after_deletion,
    check_number,
)


@dataclass
class _Memory:
    head: str
    generation: str
    last: int = 0
    entries: dict[str, KeptEntry] = field(default_factory=dict)
    """The memories by id, in the order of their last writes."""
    num_bytes: int = 0
    numbers: list[tuple[int, str]] = field(default_factory=list)
    """Numbers and ids of all writes, also of those whose entries were written again or deleted."""

    @property
    def kept(self) -> KeptMemory:
        return KeptMemory(self.head, self.generation, self.last, len(self.entries), self.num_bytes)


class MemoryTranslationMemories:
    """A TranslationMemoryStore in dictionaries. `locked` is the lock of the store that they belong to."""

    def __init__(self, locked: Callable[[], AbstractContextManager[None]]) -> None:
        self._locked = locked
        self._memories: defaultdict[str, dict[str, _Memory]] = defaultdict(dict)
        self._num_bytes = 0

    def create(self, owner: str, memory_id: str, head: str, limits: MemoryLimits) -> None:
        with self._locked():
            if memory_id in self._memories[owner]:
                raise MemoryTaken
            self._check(owner, limits, Kept(1, 0, len(head)))
            self._memories[owner][memory_id] = _Memory(head, uuid.uuid4().hex, num_bytes=len(head))
            self._num_bytes += len(head)

    def find(self, owner: str, memory_id: str) -> KeptMemory:
        with self._locked():
            return self._find(owner, memory_id).kept

    def of_owner(self, owner: str) -> Mapping[str, KeptMemory]:
        with self._locked():
            return {memory_id: memory.kept for memory_id, memory in self._memories[owner].items()}

    def delete(self, owner: str, memory_id: str) -> None:
        with self._locked():
            self._num_bytes -= self._find(owner, memory_id).num_bytes
            del self._memories[owner][memory_id]

    def put(self, owner: str, memory_id: str, bodies: Mapping[str, str], limits: MemoryLimits) -> int:
        check_number(bodies)
        with self._locked():
            memory = self._find(owner, memory_id)
            replaced = [memory.entries[entry_id] for entry_id in bodies if entry_id in memory.entries]
            number = len(bodies) - len(replaced)
            more = sum(map(len, bodies.values())) - sum(len(entry.body) for entry in replaced)
            self._check(owner, limits, Kept(0, number, more))
            for entry_id, body in bodies.items():
                memory.last += 1
                memory.entries.pop(entry_id, None)
                memory.entries[entry_id] = KeptEntry(entry_id, memory.last, body)
                memory.numbers.append((memory.last, entry_id))
            memory.num_bytes += more
            self._num_bytes += more
            _forget_old_writes(memory)
            return number

    def remove(self, owner: str, memory_id: str, entry_id: str) -> Generations:
        with self._locked():
            memory = self._find(owner, memory_id)
            entry = memory.entries.pop(entry_id, None)
            if entry is None:
                raise UnknownEntry
            before, memory.generation = memory.generation, after_deletion(memory.generation, entry_id)
            memory.num_bytes -= len(entry.body)
            self._num_bytes -= len(entry.body)
            _forget_old_writes(memory)
            return Generations(before, memory.generation)

    def entries(self, owner: str, memory_id: str, after: int, limit: int) -> list[KeptEntry]:
        with self._locked():
            memory = self._find(owner, memory_id)
            found: list[KeptEntry] = []
            at = bisect_right(memory.numbers, after, key=lambda write: write[0])
            while at < len(memory.numbers) and len(found) < limit:
                number, entry_id = memory.numbers[at]
                entry = memory.entries.get(entry_id)
                if entry is not None and entry.number == number:
                    found.append(entry)
                at += 1
            return found

    def _find(self, owner: str, memory_id: str) -> _Memory:
        if memory_id not in self._memories[owner]:
            raise UnknownMemory
        return self._memories[owner][memory_id]

    def _check(self, owner: str, limits: MemoryLimits, more: Kept) -> None:
        """Raises MemoriesFull. A write that adds nothing is always possible."""
        if more.memories > 0 or more.entries > 0 or more.num_bytes > 0:
            memories = self._memories[owner].values()
            kept = Kept(
                len(memories) + more.memories,
                sum(len(memory.entries) for memory in memories) + more.entries,
                sum(memory.num_bytes for memory in memories) + more.num_bytes,
            )
            limits.check(kept, self._num_bytes + more.num_bytes)


def _forget_old_writes(memory: _Memory) -> None:
    """Writes whose entries are gone are at most as many as entries, so that pages stay cheap."""
    if len(memory.numbers) > 2 * len(memory.entries) + 16:
        memory.numbers = [(entry.number, entry_id) for entry_id, entry in memory.entries.items()]

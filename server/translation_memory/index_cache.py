"""Indexes of translation memories in this process, within a budget of bytes."""

from collections import OrderedDict
from dataclasses import dataclass, field

from server.translation_memory.index import MemoryIndex

MemoryKey = tuple[str, str]
"""Owner, and id of a memory."""


@dataclass
class CachedIndex:
    """An index of all writes of a memory up to number `last`, in one `generation`."""

    generation: str
    index: MemoryIndex = field(default_factory=MemoryIndex)
    last: int = 0


class IndexCache:
    """Evicts the least recently used, never the one that was put last: an index alone above the budget would be made
    anew by every request. Use it in one thread."""

    def __init__(self, budget_bytes: int) -> None:
        self.budget_bytes = budget_bytes
        self._cached: OrderedDict[MemoryKey, CachedIndex] = OrderedDict()
        """Least recently used first."""

    @property
    def num_bytes(self) -> int:
        return sum(cached.index.num_bytes for cached in self._cached.values())

    def get(self, key: MemoryKey) -> CachedIndex | None:
        return self._cached.get(key)

    def put(self, key: MemoryKey, cached: CachedIndex) -> None:
        self._cached[key] = cached
        self._cached.move_to_end(key)
        while len(self._cached) > 1 and self.num_bytes > self.budget_bytes:
            self._cached.popitem(last=False)

    def drop(self, key: MemoryKey) -> None:
        self._cached.pop(key, None)

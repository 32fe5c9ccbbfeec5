"""A cache, within a budget of bytes, of what was decoded before. What it evicts is decoded again."""

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable

ENTRY_BYTES = 256
"""Bytes of an entry beside its key and its value: its place in the table, and what the allocator rounds up."""


class TranslationCache:
    """Values by key, both packed into bytes so that their size is known. The least recently used one is evicted first.
    Safe to call from several threads. `num_bytes`, never above the budget, may be read at any time."""

    def __init__(self, budget_bytes: int, evicted: Callable[[], None] = lambda: None) -> None:
        """`evicted` is called for every value that is evicted for another. Raises ValueError for a negative budget."""
        if budget_bytes < 0:
            raise ValueError(f"a cache's budget is 0 bytes or more, not {budget_bytes}")
        self.budget_bytes, self._evicted = budget_bytes, evicted
        self.num_bytes = 0
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, bytes] = OrderedDict()
        """Least recently used first."""

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: bytes) -> bytes | None:
        """The value; None when it is not kept."""
        with self._lock:
            value = self._kept.get(key)
            if value is not None:
                self._kept.move_to_end(key)
            return value

    def put(self, key: bytes, value: bytes) -> None:
        """Keep a value, unless it alone is larger than the budget."""
        size = entry_size(key, value)
        with self._lock:
            self._remove(key)
            if size > self.budget_bytes:
                return
            while self.num_bytes + size > self.budget_bytes:
                self._remove(next(iter(self._kept)))
                self._evicted()
            self._kept[key] = value
            self.num_bytes += size

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self.num_bytes = 0

    def _remove(self, key: bytes) -> None:
        value = self._kept.pop(key, None)
        if value is not None:
            self.num_bytes -= entry_size(key, value)


def entry_size(key: bytes, value: bytes) -> int:
    """Bytes that an entry takes."""
    return sys.getsizeof(key) + sys.getsizeof(value) + ENTRY_BYTES

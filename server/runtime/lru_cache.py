"""A cache within a budget of bytes that evicts the least recently used value first."""

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from server.telemetry.labels import StateEviction

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LRUCache(Generic[Key, Value]):
    """Safe to use from several threads. Values are never copied, so nothing may change them. `num_bytes`, never above
    the budget, may be read at any time. Callbacks are called under the cache's lock: they must be short and must not
    use the cache."""

    def __init__(
        self,
        budget_bytes: int,
        size_of: Callable[[Key, Value], int],
        on_evict: Callable[[StateEviction], None] = lambda reason: None,
        on_resize: Callable[[int], None] = lambda num_bytes: None,
        group_of: Callable[[Key], Hashable] | None = None,
    ) -> None:
        """`size_of`: the bytes of an entry, which must not change. `on_evict` is called for every value that is evicted
        for another, and for every value that is too large. `on_resize` is called with the bytes in use after every
        write. `group_of`: the group of keys that `drop` removes together. Raises ValueError for a negative budget."""
        if budget_bytes < 0:
            raise ValueError(f"a cache's budget is 0 bytes or more, not {budget_bytes}")
        self.budget_bytes, self.num_bytes = budget_bytes, 0
        self._size_of, self._on_evict, self._on_resize, self._group_of = size_of, on_evict, on_resize, group_of
        self._lock = threading.Lock()
        self._values: OrderedDict[Key, Value] = OrderedDict()
        """Least recently used first."""
        self._groups: defaultdict[Hashable, set[Key]] = defaultdict(set)

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Key, matches: Callable[[Value], bool] | None = None) -> Value | None:
        """The value; None when there is none, or `matches` refuses it."""
        with self._lock:
            value = self._values.get(key)
            if value is None or (matches is not None and not matches(value)):
                return None
            self._values.move_to_end(key)
            return value

    def put(self, key: Key, value: Value) -> None:
        """Keep a value in place of the key's old one, unless it alone is larger than the budget."""
        size = self._size_of(key, value)
        with self._lock:
            self._remove(key)
            if size > self.budget_bytes:
                self._on_evict("too_large")
            else:
                while self.num_bytes + size > self.budget_bytes:
                    self._remove(next(iter(self._values)))
                    self._on_evict("budget")
                self._values[key] = value
                self.num_bytes += size
                if self._group_of is not None:
                    self._groups[self._group_of(key)].add(key)
            self._on_resize(self.num_bytes)

    def drop(self, group: Hashable) -> None:
        """Remove all values of a group; an unknown group is no error."""
        with self._lock:
            for key in tuple(self._groups.get(group, ())):
                self._remove(key)
            self._on_resize(self.num_bytes)

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._values.clear()
            self._groups.clear()
            self.num_bytes = 0
            self._on_resize(0)

    def _remove(self, key: Key) -> None:
        value = self._values.pop(key, None)
        if value is None:
            return
        self.num_bytes -= self._size_of(key, value)
        if self._group_of is not None:
            group = self._group_of(key)
            self._groups[group].remove(key)
            if not self._groups[group]:
                del self._groups[group]

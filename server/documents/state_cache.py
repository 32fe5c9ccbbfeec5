"""A cache, within a budget of bytes, of what was computed of documents as context. What it evicts is computed again."""

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from server.telemetry.labels import StateEviction, StateLookup

Value = TypeVar("Value")


@dataclass(frozen=True)
class CacheListener:
    """Told of every lookup, of every value that had no room, and of the bytes in use whenever they change. Called under
    the cache's lock: be short and leave the cache alone."""

    looked_up: Callable[[StateLookup], None] = lambda _: None
    evicted: Callable[[StateEviction], None] = lambda _: None
    resized: Callable[[int], None] = lambda _: None


@dataclass(frozen=True)
class Place:
    """What a value belongs to: a document, the fingerprint of the weights, and a sentence's index (None: the whole
    document). `is_first`: as the first of two models has the document; both may have the same weights."""

    document_id: str
    fingerprint: str
    index: int | None
    is_first: bool = False


@dataclass(frozen=True)
class _Kept(Generic[Value]):
    content: Hashable
    value: Value
    num_bytes: int


class StateCache(Generic[Value]):
    """Values by place and the content that they were computed of, for example a sentence's ids. A place keeps the value
    that was put last. The least recently used value is evicted first. Safe to call from several threads; values are
    never copied, so nobody may change them. `hits`, `misses`, `evictions` and `num_bytes` (never above the budget) may
    be read at any time.
    """

    def __init__(self, budget_bytes: int, listener: CacheListener | None = None) -> None:
        """A budget of 0 keeps nothing. Raises ValueError for a negative one."""
        if budget_bytes < 0:
            raise ValueError(f"a cache's budget is 0 bytes or more, not {budget_bytes}")
        self.budget_bytes = budget_bytes
        self.num_bytes = self.hits = self.misses = self.evictions = 0
        self._listener = listener or CacheListener()
        self._lock = threading.Lock()
        self._kept: OrderedDict[Place, _Kept[Value]] = OrderedDict()
        """Least recently used first."""
        self._documents: defaultdict[str, set[Place]] = defaultdict(set)

    def get(self, place: Place, content: Hashable) -> Value | None:
        """The value; None when the one of this content is not kept."""
        with self._lock:
            kept = self._kept.get(place)
            if kept is None or kept.content != content:
                self.misses += 1
                self._listener.looked_up("miss")
                return None
            self._kept.move_to_end(place)
            self.hits += 1
            self._listener.looked_up("hit")
            return kept.value

    def put(self, place: Place, content: Hashable, value: Value, num_bytes: int) -> None:
        """Keep a value, unless it alone is larger than the budget."""
        with self._lock:
            self._remove(place)
            if num_bytes > self.budget_bytes:
                self._evicted("too_large")
            else:
                while self.num_bytes + num_bytes > self.budget_bytes:
                    self._remove(next(iter(self._kept)))
                    self._evicted("budget")
                self._kept[place] = _Kept(content, value, num_bytes)
                self.num_bytes += num_bytes
                self._documents[place.document_id].add(place)
            self._listener.resized(self.num_bytes)

    def drop(self, document_id: str) -> None:
        """Forget a document; one that is not kept is no error."""
        with self._lock:
            for place in tuple(self._documents.get(document_id, ())):
                self._remove(place)
            self._listener.resized(self.num_bytes)

    def __len__(self) -> int:
        """How many values are kept."""
        with self._lock:
            return len(self._kept)

    def _remove(self, place: Place) -> None:
        kept = self._kept.pop(place, None)
        if kept is not None:
            self.num_bytes -= kept.num_bytes
            places = self._documents[place.document_id]
            places.remove(place)
            if not places:
                del self._documents[place.document_id]

    def _evicted(self, reason: StateEviction) -> None:
        self.evictions += 1
        self._listener.evicted(reason)

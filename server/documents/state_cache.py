"""Projected states of sentences, kept within a budget of bytes: what is missing is computed anew, nothing is lost."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

States = dict[str, NDArray[np.float16]]
Lookup = Literal["hit", "miss"]
Eviction = Literal["budget", "too_large"]
LOOKUPS: tuple[Lookup, ...] = ("hit", "miss")
EVICTIONS: tuple[Eviction, ...] = ("budget", "too_large")


@dataclass(frozen=True)
class CacheListener:
    """Told of every lookup, of every sentence that had no room, and of the bytes in use whenever they change. Called
    under the cache's lock: be short and leave the cache alone."""

    looked_up: Callable[[Lookup], None] = lambda _: None
    evicted: Callable[[Eviction], None] = lambda _: None
    resized: Callable[[int], None] = lambda _: None


@dataclass(frozen=True)
class _Place:
    document_id: str
    fingerprint: str
    index: int


@dataclass(frozen=True)
class _Kept:
    content: Hashable
    states: States
    num_bytes: int


class StateCache:
    """States of a sentence by (document id, fingerprint of the weights, sentence index) and the content that they were
    computed of, say the sentence's ids. Only the content put last is kept. The sentence whose use is longest ago goes
    first. Safe to call from several threads. `hits`, `misses`, `evictions` and `num_bytes` (bytes of the arrays, never
    above the budget) may be read at any time.
    """

    def __init__(self, budget_bytes: int, listener: CacheListener | None = None) -> None:
        """A budget of 0 keeps nothing. Raises ValueError for a negative one."""
        if budget_bytes < 0:
            raise ValueError(f"a cache's budget is 0 bytes or more, not {budget_bytes}")
        self.budget_bytes = budget_bytes
        self.num_bytes = self.hits = self.misses = self.evictions = 0
        self._listener = listener or CacheListener()
        self._lock = threading.Lock()
        self._kept: OrderedDict[_Place, _Kept] = OrderedDict()
        self._documents: dict[str, set[_Place]] = {}

    def get(self, document_id: str, fingerprint: str, index: int, content: Hashable) -> States | None:
        """The states, None when those of that content are not kept. The arrays are read-only."""
        place = _Place(document_id, fingerprint, index)
        with self._lock:
            kept = self._kept.get(place)
            if kept is None or kept.content != content:
                self.misses += 1
                self._listener.looked_up("miss")
                return None
            self._kept.move_to_end(place)
            self.hits += 1
            self._listener.looked_up("hit")
            return dict(kept.states)

    def put(
        self,
        document_id: str,
        fingerprint: str,
        index: int,
        content: Hashable,
        states: Mapping[str, NDArray[np.float16]],
    ) -> None:
        """Keep a copy of the states, unless they alone are larger than the budget. Raises ValueError for an array that
        is not float16."""
        for name, array in states.items():
            if array.dtype != np.float16:
                raise ValueError(f"state '{name}' of sentence {index} is {array.dtype}: the cache keeps float16")
        place = _Place(document_id, fingerprint, index)
        num_bytes = sum(array.nbytes for array in states.values())
        copies = {name: _frozen(array) for name, array in states.items()} if num_bytes <= self.budget_bytes else {}
        with self._lock:
            if place in self._kept:
                self._remove(place)
            if num_bytes > self.budget_bytes:
                self._evicted("too_large")
            else:
                while self.num_bytes + num_bytes > self.budget_bytes:
                    self._remove(next(iter(self._kept)))
                    self._evicted("budget")
                self._kept[place] = _Kept(content, copies, num_bytes)
                self._documents.setdefault(document_id, set()).add(place)
                self.num_bytes += num_bytes
            self._listener.resized(self.num_bytes)

    def drop(self, document_id: str) -> None:
        """Forget a document; one that is not kept is no error."""
        with self._lock:
            for place in tuple(self._documents.get(document_id, ())):
                self._remove(place)
            self._listener.resized(self.num_bytes)

    def __len__(self) -> int:
        """How many sentences are kept."""
        with self._lock:
            return len(self._kept)

    def _remove(self, place: _Place) -> None:
        self.num_bytes -= self._kept.pop(place).num_bytes
        places = self._documents[place.document_id]
        places.remove(place)
        if not places:
            del self._documents[place.document_id]

    def _evicted(self, reason: Eviction) -> None:
        self.evictions += 1
        self._listener.evicted(reason)


def _frozen(array: NDArray[np.float16]) -> NDArray[np.float16]:
    """A copy that owns exactly its bytes and cannot be written to."""
    copy = np.array(array, dtype=np.float16, order="C")
    copy.flags.writeable = False
    return copy

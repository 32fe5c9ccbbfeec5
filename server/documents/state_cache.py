"""The cache of states of documents' sentences, within a budget of bytes for all documents. Evicted states are computed
again (`sentence_states`); the encodings of one document's sentences have a cache of their own (`encoding_cache`)."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from server.runtime.lru_cache import LRUCache
from server.telemetry.labels import StateEviction, StateLookup
from server.telemetry.metrics import Metrics
from server.telemetry.series import NO_MODEL

Value = TypeVar("Value")


@dataclass(frozen=True)
class Place:
    """What a value belongs to: a document, the fingerprint of the weights, and a sentence's index (None: the whole
    document). `is_first`: as the first of two models has the document; both may have the same weights."""

    document_id: str
    fingerprint: str
    index: int | None
    is_first: bool = False


@dataclass(frozen=True)
class _Entry(Generic[Value]):
    content: Hashable
    value: Value
    num_bytes: int


class StateCache(Generic[Value]):
    """Values by place and the content that they were computed from, for example a sentence's ids. A place keeps the
    value that was put last. Safe to use from several threads; nothing may change a value."""

    def __init__(
        self,
        budget_bytes: int,
        on_lookup: Callable[[StateLookup], None] = lambda result: None,
        on_evict: Callable[[StateEviction], None] = lambda reason: None,
        on_resize: Callable[[int], None] = lambda num_bytes: None,
    ) -> None:
        """A budget of 0 keeps nothing. Callbacks: see LRUCache. Raises ValueError for a negative budget."""
        self._on_lookup = on_lookup
        self._entries: LRUCache[Place, _Entry[Value]] = LRUCache(
            budget_bytes, lambda _, entry: entry.num_bytes, on_evict, on_resize, lambda place: place.document_id
        )

    @classmethod
    def metered(cls, budget_bytes: int, metrics: Metrics) -> "StateCache[Value]":
        """A cache that keeps the metrics `ringmt_context_cache_*` up to date, which have no model: one cache serves all
        models."""
        metrics.context_cache_limit_bytes.labels(NO_MODEL).set(budget_bytes)
        return cls(
            budget_bytes,
            lambda result: metrics.context_cache_lookups_total.labels(result, NO_MODEL).inc(),
            lambda reason: metrics.context_cache_evictions_total.labels(reason, NO_MODEL).inc(),
            metrics.context_cache_bytes.labels(NO_MODEL).set,
        )

    @property
    def num_bytes(self) -> int:
        """Bytes in use, never above the budget."""
        return self._entries.num_bytes

    def __len__(self) -> int:
        """How many values are kept."""
        return len(self._entries)

    def get(self, place: Place, content: Hashable) -> Value | None:
        """The value; None when there is none of this content."""
        entry = self._entries.get(place, lambda entry: entry.content == content)
        self._on_lookup("miss" if entry is None else "hit")
        return None if entry is None else entry.value

    def put(self, place: Place, content: Hashable, value: Value, num_bytes: int) -> None:
        """Keep a value, unless it alone is larger than the budget."""
        self._entries.put(place, _Entry(content, value, num_bytes))

    def drop(self, document_id: str) -> None:
        """Remove all values of a document; an unknown document is no error."""
        self._entries.drop(document_id)

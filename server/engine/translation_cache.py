"""The cache of sentences that were decoded before. An evicted translation is decoded again."""

import sys
from collections.abc import Callable

from server.runtime.lru_cache import LRUCache

ENTRY_BYTES = 256
"""Bytes of an entry beside its key and its value: its place in the table, and what the allocator rounds up."""


class TranslationCache(LRUCache[bytes, bytes]):
    """Translations by key, both packed into bytes so that their size is known."""

    def __init__(self, budget_bytes: int, on_evict: Callable[[], None] = lambda: None) -> None:
        """`on_evict` is called for every value that is evicted for another. Raises ValueError for a negative budget."""
        super().__init__(budget_bytes, entry_size, lambda reason: on_evict() if reason == "budget" else None)


def entry_size(key: bytes, value: bytes) -> int:
    """Bytes that an entry takes."""
    return sys.getsizeof(key) + sys.getsizeof(value) + ENTRY_BYTES

"""The encoder outputs of one document's sentences while it is translated, so that each is encoded once. They are gone
afterwards; what outlives a translation are the states in `state_cache`."""

import asyncio
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

from server.backends.context import EncodedSource
from server.translation.translator import Translator

ENCODING_CACHE_BYTES = 64 * 2**20
"""The most that one document's `EncodingCache` keeps."""
AT_ONCE = 64
"""Sentences computed at the same time: more would only fill the engine's queue."""

Item = TypeVar("Item")


class EncodingCache:
    """Encoder outputs by source ids, in ENCODING_CACHE_BYTES. Draft, states and translation of a sentence share one. It
    evicts nothing by itself: a full cache takes no more until `forget`."""

    def __init__(self) -> None:
        self._encodings: dict[tuple[int, ...], EncodedSource] = {}
        self._num_bytes = 0

    def get(self, source_ids: tuple[int, ...]) -> EncodedSource | None:
        return self._encodings.get(source_ids)

    def forget(self, sources: Iterable[tuple[int, ...]]) -> None:
        """Remove the encodings of sentences that have been translated."""
        for ids in sources:
            encoding = self._encodings.pop(ids, None)
            self._num_bytes -= 0 if encoding is None else encoding.num_bytes

    async def fill(self, translator: Translator, sources: Iterable[tuple[int, ...]], owner: Hashable = None) -> None:
        """Encode those of `sources` that are missing, as long as there is room. Raises Overloaded, EngineStopped."""
        missing = [ids for ids in dict.fromkeys(sources) if ids not in self._encodings]
        for portion in in_portions(translator, missing):
            if self._num_bytes >= ENCODING_CACHE_BYTES:
                return
            futures = translator.worker.side_tasks.encode_sources(portion, owner)
            for batch in await asyncio.gather(*map(asyncio.wrap_future, futures)):
                for encoding in batch:
                    self._put(encoding)

    def _put(self, encoding: EncodedSource) -> None:
        is_new = encoding.source_ids not in self._encodings
        if is_new and self._num_bytes + encoding.num_bytes <= ENCODING_CACHE_BYTES:
            self._encodings[encoding.source_ids] = encoding
            self._num_bytes += encoding.num_bytes


def in_portions(translator: Translator, items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """The items in portions that leave most of the engine's queue to others."""
    size = max(1, min(AT_ONCE, translator.settings.max_waiting // 4))
    for start in range(0, len(items), size):
        yield items[start : start + size]

"""The encodings of a document's sentences, kept while they are translated, so that each is encoded once."""

import asyncio
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

from server.backends.context import EncodedSource
from server.translation.translator import Translator

ENCODING_CACHE_BYTES = 64 * 2**20
"""The most that one document's `EncodingCache` keep."""
AT_ONCE = 64
"""Sentences computed at the same time: more would only fill the engine's waiting room."""

Sentence = TypeVar("Sentence")


class EncodingCache:
    """Encoder outputs by source ids, in ENCODING_CACHE_BYTES. Draft, states and translation of a sentence share one."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, ...], EncodedSource] = {}
        self._num_bytes = 0

    def keep(self, read: EncodedSource) -> None:
        if read.source_ids not in self._kept and self._num_bytes + read.num_bytes <= ENCODING_CACHE_BYTES:
            self._kept[read.source_ids] = read
            self._num_bytes += read.num_bytes

    def forget(self, sources: Iterable[tuple[int, ...]]) -> None:
        """Make room: these have been translated."""
        for ids in sources:
            read = self._kept.pop(ids, None)
            self._num_bytes -= 0 if read is None else read.num_bytes

    def get(self, source_ids: tuple[int, ...]) -> EncodedSource | None:
        return self._kept.get(source_ids)

    async def fill(self, translator: Translator, sources: Iterable[tuple[int, ...]], owner: Hashable = None) -> None:
        """Encode those of `sources` that are not kept, as long as there is room. Raises Overloaded, EngineStopped."""
        missing = [ids for ids in dict.fromkeys(sources) if ids not in self._kept]
        for some in some_at_a_time(translator, missing):
            if self._num_bytes >= ENCODING_CACHE_BYTES:
                return
            asked = translator.worker.encode_sources(some, owner)
            for batch in await asyncio.gather(*map(asyncio.wrap_future, asked)):
                for read in batch:
                    self.keep(read)


def some_at_a_time(translator: Translator, sentences: Sequence[Sentence]) -> Iterator[Sequence[Sentence]]:
    count = max(1, min(AT_ONCE, translator.settings.max_waiting // 4))
    for start in range(0, len(sentences), count):
        yield sentences[start : start + count]

"""The states of a document's sentences: from the cache, or computed anew, which gives the same bit for bit."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from server.backends.context import SentenceContext, States, StoredDocument
from server.documents.parts import split_parts
from server.documents.protocol import Owners, visible
from server.documents.records import Mode, Sentence
from server.documents.state_cache import StateCache
from server.translator import Translator

AT_ONCE = 64
"""Sentences computed at the same time: more would only fill the engine's waiting room."""


@dataclass(frozen=True)
class DocumentStates:
    """The states of the parts of some sentences, side by side."""

    stored: StoredDocument
    owners: Owners

    def seen_by(self, mode: Mode, index: int) -> SentenceContext | None:
        """What a sentence sees; None when it sees nothing."""
        seen = visible(mode, index, self.owners)
        return SentenceContext(self.stored, seen) if seen.any() else None


class StateReader:
    """Reads states through the cache."""

    def __init__(self, cache: StateCache) -> None:
        self.cache = cache

    async def of_document(
        self, translator: Translator, document_id: str, sentences: Sequence[Sentence]
    ) -> DocumentStates | None:
        """None when there is nothing to see: no sentence has words, or the model knows no context. Raises Overloaded,
        EngineStopped."""
        if not translator.knows_context:
            return None
        states: list[States] = []
        for some in _some_at_a_time(translator, sentences):
            for of_parts in await asyncio.gather(*(self._read(translator, document_id, one) for one in some)):
                states.extend(of_parts)
        return await _side_by_side(sentences, states)

    async def of_parts(self, translator: Translator, parts: Sequence[tuple[int, ...]]) -> DocumentStates | None:
        """Of sentences that belong to no document that is kept: nothing of them stays in the cache."""
        if not translator.knows_context:
            return None
        sentences = [Sentence(index, "", ids) for index, ids in enumerate(parts)]
        states: list[States] = []
        for some in _some_at_a_time(translator, sentences):
            states += await asyncio.gather(*(_represent(translator, one.source_ids, None) for one in some))
        return await _side_by_side(sentences, states)

    async def _read(self, translator: Translator, document_id: str, sentence: Sentence) -> list[States]:
        """The states of a sentence's parts."""
        parts = split_parts(sentence.source_ids)
        place = (document_id, translator.fingerprint, sentence.index, sentence.source_ids)
        kept = self.cache.get(*place) if parts else None
        if kept is not None:
            return [
                {name.partition(":")[2]: array for name, array in kept.items() if name.startswith(f"{number}:")}
                for number in range(len(parts))
            ]
        states = await asyncio.gather(*(_represent(translator, part, document_id) for part in parts))
        if parts:
            self.cache.put(
                *place, {f"{n}:{name}": array for n, of_part in enumerate(states) for name, array in of_part.items()}
            )
        return list(states)


def _some_at_a_time(translator: Translator, sentences: Sequence[Sentence]) -> Iterator[Sequence[Sentence]]:
    count = max(1, min(AT_ONCE, translator.settings.max_waiting // 4))
    for start in range(0, len(sentences), count):
        yield sentences[start : start + count]


async def _represent(translator: Translator, ids: Sequence[int], owner: str | None) -> States:
    return await asyncio.wrap_future(translator.worker.represent(ids, owner=owner))


async def _side_by_side(sentences: Sequence[Sentence], states: Sequence[States]) -> DocumentStates | None:
    if not states:
        return None
    parts = [(sentence.index, part) for sentence in sentences for part in split_parts(sentence.source_ids)]
    stored = await asyncio.to_thread(StoredDocument.of, states, [len(part) - 1 for _, part in parts])
    return DocumentStates(stored, np.array([index for index, _ in parts], np.int64))

"""The states of a document's sentences: from the cache, or computed anew, which gives the same bit for bit."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from server.backends.context import SentenceContext, States, StoredDocument
from server.documents.drafts import with_drafts, words_of
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
        seen = visible(mode, index, self.owners) & (self.stored.num_words > 0)
        return SentenceContext(self.stored, seen) if seen.any() else None


class StateReader:
    """Reads states through the cache."""

    def __init__(self, cache: StateCache) -> None:
        self.cache = cache

    async def of_document(
        self, translator: Translator, document_id: str, sentences: Sequence[Sentence]
    ) -> DocumentStates | None:
        """Of sentences that have their drafts, if the model needs these. None when there is nothing to see: no sentence
        has words, or the model knows no context. Raises Overloaded, EngineStopped."""
        if not translator.knows_context:
            return None
        states: list[States] = []
        for some in _some_at_a_time(translator, sentences):
            for of_parts in await asyncio.gather(*(self._read(translator, document_id, one) for one in some)):
                states.extend(of_parts)
        return await _side_by_side(sentences, states)

    async def of_parts(self, translator: Translator, parts: Sequence[tuple[int, ...]]) -> DocumentStates | None:
        """Of sentences that belong to no document that is kept: nothing of them stays in the cache. Drafts are made on
        the way."""
        if not translator.knows_context:
            return None
        sentences = await with_drafts(translator, [Sentence(index, "", ids) for index, ids in enumerate(parts)])
        states: list[States] = []
        for some in _some_at_a_time(translator, sentences):
            for of_parts in await asyncio.gather(*(_represent(translator, one, None) for one in some)):
                states.extend(of_parts)
        return await _side_by_side(sentences, states)

    async def _read(self, translator: Translator, document_id: str, sentence: Sentence) -> list[States]:
        """The states of a sentence's parts."""
        count = len(split_parts(sentence.source_ids))
        content = (sentence.source_ids, sentence.draft_ids)
        place = (document_id, translator.fingerprint, sentence.index, content)
        kept = self.cache.get(*place) if count else None
        if kept is not None:
            return [
                {name.partition(":")[2]: array for name, array in kept.items() if name.startswith(f"{number}:")}
                for number in range(count)
            ]
        states = await _represent(translator, sentence, document_id)
        if count:
            self.cache.put(
                *place, {f"{n}:{name}": array for n, of_part in enumerate(states) for name, array in of_part.items()}
            )
        return states


def _some_at_a_time(translator: Translator, sentences: Sequence[Sentence]) -> Iterator[Sequence[Sentence]]:
    count = max(1, min(AT_ONCE, translator.settings.max_waiting // 4))
    for start in range(0, len(sentences), count):
        yield sentences[start : start + count]


async def _represent(translator: Translator, sentence: Sentence, owner: str | None) -> list[States]:
    """Of every part."""
    pairs = zip(split_parts(sentence.source_ids), words_of(sentence), strict=True)
    represent = translator.worker.represent
    asked = [represent(source, words[:-1] if translator.needs_drafts else (), owner) for source, words in pairs]
    return list(await asyncio.gather(*map(asyncio.wrap_future, asked)))


async def _side_by_side(sentences: Sequence[Sentence], states: Sequence[States]) -> DocumentStates | None:
    if not states:
        return None
    parts = [(sentence.index, part) for sentence in sentences for part in words_of(sentence)]
    stored = await asyncio.to_thread(StoredDocument.of, states, [len(part) - 1 for _, part in parts])
    return DocumentStates(stored, np.array([index for index, _ in parts], np.int64))

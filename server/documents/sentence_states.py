"""The states of a document's sentences, which other sentences attend to: read from `state_cache`, or computed by the
engine. Both are the same bit for bit. Which sentence sees which is decided in `visibility`."""

import asyncio
import hashlib
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from server.backends.context import SentenceContext, States, StoredDocument
from server.documents.append_states import concatenated, end_of
from server.documents.drafts import with_drafts, words_of
from server.documents.encoding_cache import EncodingCache, in_portions
from server.documents.state_cache import Place, StateCache
from server.documents.visibility import Owners, distances
from server.runtime.offload import offload
from server.stores.records import Document, Mode, Part, Sentence
from server.stores.threads import in_store_thread
from server.telemetry import tracing
from server.translation.translator import Translator

DIGEST_BYTES = 32


@dataclass(frozen=True)
class DocumentStates:
    """The states of J parts of sentences, in pages as the graphs read them. `owners` [J] are the indices of their
    sentences. `contents` are J digests of what they were made of, one after the other. A sentence sees others up to
    `reach` sentences away (None: all)."""

    stored: StoredDocument
    owners: Owners
    contents: bytes
    reach: int | None
    encodings: EncodingCache = field(default_factory=EncodingCache)

    def seen_by(self, mode: Mode, index: int) -> SentenceContext | None:
        """What sentence `index` sees; None when it sees nothing."""
        seen = distances(mode, index, self.owners, self.reach) * (self.stored.num_words > 0)
        if not seen.any():
            return None
        first, last = np.flatnonzero(seen)[[0, -1]].tolist()
        digest = hashlib.blake2b(seen[: last + 1].tobytes(), digest_size=DIGEST_BYTES)
        digest.update(self.contents[first * DIGEST_BYTES : (last + 1) * DIGEST_BYTES])
        return SentenceContext(self.stored, seen, digest.digest())

    def since(self, index: int) -> "DocumentStates | None":
        """The states of sentence `index` and those after it; None when there are none."""
        first = int(np.searchsorted(self.owners, index))
        if first == len(self.owners):
            return None
        return replace(
            self,
            stored=end_of(self.stored, first),
            owners=self.owners[first:],
            contents=self.contents[first * DIGEST_BYTES :],
        )


@dataclass(frozen=True)
class AppendedDocument:
    """An online document after its last append: `states` of its first `count` sentences, as far as sentences to come
    can see them, and the `later` sentences, which no sentence has seen yet and which have no states."""

    states: DocumentStates | None
    count: int
    later: tuple[Sentence, ...] = ()

    @property
    def num_sentences(self) -> int:
        return self.count + len(self.later)

    @property
    def num_bytes(self) -> int:
        return self.states.stored.num_bytes if self.states is not None else 0


StatesOfParts = tuple[States, ...]
"""The states of one sentence, part by part."""
DocumentCache = StateCache[StatesOfParts | AppendedDocument]


class StateReader:
    """Reads states through the cache."""

    def __init__(self, cache: DocumentCache) -> None:
        self.cache = cache

    async def of_document(
        self,
        translator: Translator,
        document_id: str,
        sentences: Sequence[Sentence],
        encodings: EncodingCache | None = None,
    ) -> DocumentStates | None:
        """The states of `sentences`, which have their drafts if the model needs drafts. None when there is nothing to
        see: no sentence has words, or the model knows no context. What `encodings` keeps is not encoded again. Raises
        Overloaded, EngineStopped."""
        if not translator.knows_context:
            return None
        encodings, states = EncodingCache() if encodings is None else encodings, list[States]()
        with tracing.stage("context"):
            for portion in in_portions(translator, sentences):
                for of_parts in await self._read(translator, document_id, portion, encodings):
                    states.extend(of_parts)
            return await _in_pages(sentences, states, translator.reach, encodings)

    async def states_before_append(
        self,
        translator: Translator,
        document: Document,
        read: Callable[[int, int], list[Sentence]],
        deadline: float | None = None,
    ) -> DocumentStates | None:
        """The states that sentences appended to an online document can see: those of the last append, extended by what
        has come since. Only sentences that are not cached here are read, by `read`, which takes the first index and the
        index after the last, and blocks. Raises what of_document raises, DeadlineExceeded, StoreError,
        UnknownDocument."""
        if not translator.knows_context:
            return None
        first = 0 if translator.reach is None else max(0, document.num_sentences - translator.reach)
        kept = self.cache.get(_place_of(document, translator), document.revision)
        appended = kept if isinstance(kept, AppendedDocument) else AppendedDocument(None, 0)
        if not first <= appended.num_sentences <= document.num_sentences:
            appended = AppendedDocument(None, first)
        later = list(appended.later)
        if appended.num_sentences < document.num_sentences:
            later += await in_store_thread(read, appended.num_sentences, document.num_sentences)
        longest = document.options.get("max_length")
        encodings = EncodingCache()
        later = await with_drafts(translator, later, longest, deadline, encodings=encodings)
        states = await self._extended(translator, document, appended.states, later, encodings)
        self._keep(document, translator, AppendedDocument(states, document.num_sentences))
        return states

    async def states_with_appended(
        self,
        translator: Translator,
        document: Document,
        states: DocumentStates | None,
        later: Sequence[Sentence],
        encodings: EncodingCache,
    ) -> DocumentStates | None:
        """`states`, extended by those of the `later` sentences, which have their drafts if the model needs drafts. The
        last one is left out, since no sentence sees it yet; but the cache has its states for the next append."""
        if not translator.knows_context:
            return None
        extended = await self._extended(translator, document, states, later[:-1], encodings)
        if extended is None:
            return None
        await self._read(translator, document.id, later[-1:], encodings)
        return replace(extended, encodings=encodings)

    def keep_append(
        self, translator: Translator, document: Document, states: DocumentStates | None, new: Sequence[Sentence]
    ) -> None:
        """Remember that `document` now ends with the `new` sentences; `states` are those of all but the last."""
        if translator.knows_context:
            last = tuple(new[-1:])
            self._keep(document, translator, AppendedDocument(states, document.num_sentences - len(last), last))

    async def of_texts(
        self, translator: Translator, texts: Sequence[tuple[tuple[int, ...], ...]]
    ) -> list[DocumentStates | None]:
        """The states of every text, given as the source ids of its sentences. They belong to no document, so nothing of
        them enters the cache. Drafts are made here. What several texts share is computed once."""
        if not translator.knows_context:
            return [None] * len(texts)
        different = dict.fromkeys(ids for text in texts for ids in text)
        encodings = EncodingCache()
        sentences = await with_drafts(
            translator, [Sentence(index, "", (Part(ids),)) for index, ids in enumerate(different)], encodings=encodings
        )
        states_of: dict[tuple[int, ...], tuple[Part, States]] = {}
        for portion in in_portions(translator, sentences):
            made = await _represent(translator, portion, None, encodings)
            for sentence, (states,) in zip(portion, made, strict=True):
                states_of[sentence.parts[0].source_ids] = (sentence.parts[0], states)
        of_text: dict[tuple[tuple[int, ...], ...], DocumentStates | None] = {}
        for text in dict.fromkeys(texts):
            parts = [states_of[ids] for ids in text]
            alike = [Sentence(index, "", (part,)) for index, (part, _) in enumerate(parts)]
            of_text[text] = await _in_pages(alike, [states for _, states in parts], translator.reach, EncodingCache())
        return [of_text[text] for text in texts]

    async def _extended(
        self,
        translator: Translator,
        document: Document,
        states: DocumentStates | None,
        later: Sequence[Sentence],
        encodings: EncodingCache,
    ) -> DocumentStates | None:
        more = await self.of_document(translator, document.id, later, encodings)
        if states is None or more is None:
            return states if more is None else more
        stored = await offload(concatenated, states.stored, more.stored)
        owners = np.concatenate([states.owners, more.owners])
        return DocumentStates(stored, owners, states.contents + more.contents, states.reach, more.encodings)

    def _keep(self, document: Document, translator: Translator, appended: AppendedDocument) -> None:
        """Put `appended` into the cache, without `encodings`, which serve one translation only, and without states that
        no later sentence can see."""
        states = appended.states
        if states is not None and translator.reach is not None:
            states = states.since(document.num_sentences - translator.reach)
        if states is not None:
            states = replace(states, encodings=EncodingCache())
        appended = replace(appended, states=states)
        self.cache.put(_place_of(document, translator), document.revision, appended, appended.num_bytes)

    async def _read(
        self, translator: Translator, document_id: str, sentences: Sequence[Sentence], encodings: EncodingCache
    ) -> list[StatesOfParts]:
        """The states of every sentence's parts; those that are not in the cache are computed, all together."""
        places = [Place(document_id, translator.fingerprint, sentence.index) for sentence in sentences]
        cached = [
            self.cache.get(place, context_of(sentence)) if sentence.parts else ()
            for place, sentence in zip(places, sentences, strict=True)
        ]
        missing = [number for number, states in enumerate(cached) if not isinstance(states, tuple)]
        made = await _represent(translator, [sentences[number] for number in missing], document_id, encodings)
        for number, states in zip(missing, made, strict=True):
            num_bytes = sum(array.nbytes for of_part in states for array in of_part.values())
            self.cache.put(places[number], context_of(sentences[number]), states, num_bytes)
            cached[number] = states
        return [states for states in cached if isinstance(states, tuple)]


def _place_of(document: Document, translator: Translator) -> Place:
    """The place of the whole document."""
    is_first = bool(document.legs) and document.legs[0].model == translator.name
    return Place(document.id, translator.fingerprint, None, is_first)


async def _represent(
    translator: Translator, sentences: Sequence[Sentence], owner: str | None, encodings: EncodingCache
) -> list[StatesOfParts]:
    """The states of every sentence's parts, all computed together."""
    parts = [part for sentence in sentences for part in sentence.parts]
    await encodings.fill(translator, [part.source_ids for part in parts], owner)
    states = iter(await asyncio.gather(*(_states_of(translator, part, owner, encodings) for part in parts)))
    return [
        tuple({name: _frozen(array) for name, array in next(states).items()} for _ in sentence.parts)
        for sentence in sentences
    ]


async def _states_of(translator: Translator, part: Part, owner: str | None, encodings: EncodingCache) -> States:
    encoding = encodings.get(part.source_ids)
    if encoding is not None and encoding.states is not None:
        return encoding.states
    return await asyncio.wrap_future(
        translator.worker.side_tasks.compute_states(part.source_ids, words_of(part), owner, encoding)
    )


def _frozen(array: NDArray[np.float16]) -> NDArray[np.float16]:
    """A copy that owns exactly its bytes and cannot be written to."""
    copy = np.array(array, dtype=np.float16, order="C")
    copy.flags.writeable = False
    return copy


async def _in_pages(
    sentences: Sequence[Sentence], states: Sequence[States], reach: int | None, encodings: EncodingCache
) -> DocumentStates | None:
    if not states:
        return None
    owners = [(sentence.index, part) for sentence in sentences for part in sentence.parts]
    stored = await offload(StoredDocument.of, states, [len(words_of(part)) for _, part in owners])
    contents = b"".join(_digest(part) for _, part in owners)
    return DocumentStates(stored, np.array([index for index, _ in owners], np.int64), contents, reach, encodings)


def _digest(part: Part) -> bytes:
    content = pickle.dumps((part.source_ids, words_of(part)))
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).digest()


def context_of(sentence: Sentence) -> tuple[tuple[tuple[int, ...], tuple[int, ...] | None], ...]:
    """Everything that a sentence's states depend on."""
    return tuple((part.source_ids, part.context_ids) for part in sentence.parts)

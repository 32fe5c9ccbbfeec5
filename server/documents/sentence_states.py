"""The states of a document's sentences, from the cache or computed anew: both are the same bit for bit."""

import asyncio
import hashlib
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from server.backends.context import SentenceContext, States, StoredDocument
from server.documents.append_states import end_of, side_by_side
from server.documents.drafts import with_drafts, words_of
from server.documents.encoding_cache import EncodingCache, some_at_a_time
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
    """The states of J parts of sentences, laid out for the graphs. `owners` [J] are the indices of their sentences.
    `contents` are J digests of what they were made of, one after the other. A sentence sees others up to `reach`
    sentences away (None: all)."""

    stored: StoredDocument
    owners: Owners
    contents: bytes
    reach: int | None
    reads: EncodingCache = field(default_factory=EncodingCache)

    def seen_by(self, mode: Mode, index: int) -> SentenceContext | None:
        """What sentence `index` sees; None when it sees nothing."""
        seen = distances(mode, index, self.owners, self.reach) * (self.stored.num_words > 0)
        if not seen.any():
            return None
        first, last = np.flatnonzero(seen)[[0, -1]].tolist()
        made_of = hashlib.blake2b(seen[: last + 1].tobytes(), digest_size=DIGEST_BYTES)
        made_of.update(self.contents[first * DIGEST_BYTES : (last + 1) * DIGEST_BYTES])
        return SentenceContext(self.stored, seen, made_of.digest())

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
class Grown:
    """An online document after its last append: `states` of its first `count` sentences, as far as sentences to come
    can see them, and the `later` sentences, which nobody has seen yet and which have no states."""

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
DocumentCache = StateCache[StatesOfParts | Grown]


class StateReader:
    """Reads states through the cache."""

    def __init__(self, cache: DocumentCache) -> None:
        self.cache = cache

    async def of_document(
        self,
        translator: Translator,
        document_id: str,
        sentences: Sequence[Sentence],
        reads: EncodingCache | None = None,
    ) -> DocumentStates | None:
        """The states of `sentences`, which have their drafts if the model needs drafts. None when there is nothing to
        see: no sentence has words, or the model knows no context. What `reads` keeps is not encoded again. Raises
        Overloaded, EngineStopped."""
        if not translator.knows_context:
            return None
        reads, states = EncodingCache() if reads is None else reads, list[States]()
        with tracing.stage("context"):
            for some in some_at_a_time(translator, sentences):
                for of_parts in await self._read(translator, document_id, some, reads):
                    states.extend(of_parts)
            return await _side_by_side(sentences, states, translator.reach, reads)

    async def before_append(
        self,
        translator: Translator,
        document: Document,
        read: Callable[[int, int], list[Sentence]],
        deadline: float | None = None,
    ) -> DocumentStates | None:
        """The states that sentences appended to an online document can see: those of the last append, extended by what
        has come since. Only sentences that are not known here are read, by `read`, which takes the first index and that
        after the last, and blocks. Raises also DeadlineExceeded,
        StoreError, UnknownDocument."""
        if not translator.knows_context:
            return None
        first = 0 if translator.reach is None else max(0, document.num_sentences - translator.reach)
        kept = self.cache.get(_place_of(document, translator), document.revision)
        grown = kept if isinstance(kept, Grown) else Grown(None, 0)
        if not first <= grown.num_sentences <= document.num_sentences:
            grown = Grown(None, first)
        later = list(grown.later)
        if grown.num_sentences < document.num_sentences:
            later += await in_store_thread(read, grown.num_sentences, document.num_sentences)
        longest = document.options.get("max_length")
        reads = EncodingCache()
        later = await with_drafts(translator, later, longest, deadline, reads=reads)
        states = await self._extended(translator, document, grown.states, later, reads)
        self._keep(document, translator, Grown(states, document.num_sentences))
        return states

    async def beside(
        self,
        translator: Translator,
        document: Document,
        states: DocumentStates | None,
        later: Sequence[Sentence],
        reads: EncodingCache,
    ) -> DocumentStates | None:
        """`states`, extended by those of the `later` sentences, which have their drafts if the model needs drafts. The
        last one is left out, since nobody sees it yet; but the cache has its states for the next append."""
        if not translator.knows_context:
            return None
        found = await self._extended(translator, document, states, later[:-1], reads)
        if found is None:
            return None
        await self._read(translator, document.id, later[-1:], reads)
        return replace(found, reads=reads)

    def appended(
        self, translator: Translator, document: Document, states: DocumentStates | None, new: Sequence[Sentence]
    ) -> None:
        """Remember that `document` now ends with the `new` sentences; `states` are those of all but the last."""
        if translator.knows_context:
            last = tuple(new[-1:])
            self._keep(document, translator, Grown(states, document.num_sentences - len(last), last))

    async def of_texts(
        self, translator: Translator, texts: Sequence[tuple[tuple[int, ...], ...]]
    ) -> list[DocumentStates | None]:
        """The states of every text, given as the source ids of its sentences. They belong to no document, so nothing of
        them enters the cache. Drafts are made here. What several texts share is computed once."""
        if not translator.knows_context:
            return [None] * len(texts)
        different = dict.fromkeys(ids for text in texts for ids in text)
        reads = EncodingCache()
        sentences = await with_drafts(
            translator, [Sentence(index, "", (Part(ids),)) for index, ids in enumerate(different)], reads=reads
        )
        found: dict[tuple[int, ...], tuple[Part, States]] = {}
        for some in some_at_a_time(translator, sentences):
            for one, (states,) in zip(some, await _represent(translator, some, None, reads), strict=True):
                found[one.parts[0].source_ids] = (one.parts[0], states)
        laid_out: dict[tuple[tuple[int, ...], ...], DocumentStates | None] = {}
        for text in dict.fromkeys(texts):
            parts = [found[ids] for ids in text]
            alike = [Sentence(index, "", (part,)) for index, (part, _) in enumerate(parts)]
            laid_out[text] = await _side_by_side(
                alike, [states for _, states in parts], translator.reach, EncodingCache()
            )
        return [laid_out[text] for text in texts]

    async def _extended(
        self,
        translator: Translator,
        document: Document,
        states: DocumentStates | None,
        later: Sequence[Sentence],
        reads: EncodingCache,
    ) -> DocumentStates | None:
        more = await self.of_document(translator, document.id, later, reads)
        if states is None or more is None:
            return states if more is None else more
        stored = await offload(side_by_side, states.stored, more.stored)
        owners = np.concatenate([states.owners, more.owners])
        return DocumentStates(stored, owners, states.contents + more.contents, states.reach, more.reads)

    def _keep(self, document: Document, translator: Translator, grown: Grown) -> None:
        """Put `grown` into the cache, without `reads`, which serve one translation only, and without states that no
        later sentence can see."""
        states = grown.states
        if states is not None and translator.reach is not None:
            states = states.since(document.num_sentences - translator.reach)
        if states is not None:
            states = replace(states, reads=EncodingCache())
        grown = replace(grown, states=states)
        self.cache.put(_place_of(document, translator), document.revision, grown, grown.num_bytes)

    async def _read(
        self, translator: Translator, document_id: str, sentences: Sequence[Sentence], reads: EncodingCache
    ) -> list[StatesOfParts]:
        """Of every sentence what is kept of its parts; what is not in the cache is computed, all together."""
        places = [Place(document_id, translator.fingerprint, one.index) for one in sentences]
        found = [
            self.cache.get(place, context_of(one)) if one.parts else ()
            for place, one in zip(places, sentences, strict=True)
        ]
        missing = [number for number, kept in enumerate(found) if not isinstance(kept, tuple)]
        made = await _represent(translator, [sentences[number] for number in missing], document_id, reads)
        for number, states in zip(missing, made, strict=True):
            num_bytes = sum(array.nbytes for of_part in states for array in of_part.values())
            self.cache.put(places[number], context_of(sentences[number]), states, num_bytes)
            found[number] = states
        return [kept for kept in found if isinstance(kept, tuple)]


def _place_of(document: Document, translator: Translator) -> Place:
    """The place of the whole document."""
    is_first = bool(document.legs) and document.legs[0].model == translator.name
    return Place(document.id, translator.fingerprint, None, is_first)


async def _represent(
    translator: Translator, sentences: Sequence[Sentence], owner: str | None, reads: EncodingCache
) -> list[StatesOfParts]:
    """The states of every sentence's parts, all computed together."""
    parts = [part for one in sentences for part in one.parts]
    await reads.fill(translator, [part.source_ids for part in parts], owner)
    found = iter(await asyncio.gather(*(_states_of(translator, part, owner, reads) for part in parts)))
    return [
        tuple({name: _frozen(array) for name, array in next(found).items()} for _ in one.parts) for one in sentences
    ]


async def _states_of(translator: Translator, part: Part, owner: str | None, reads: EncodingCache) -> States:
    read = reads.get(part.source_ids)
    if read is not None and read.states is not None:
        return read.states
    return await asyncio.wrap_future(translator.worker.compute_states(part.source_ids, words_of(part), owner, read))


def _frozen(array: NDArray[np.float16]) -> NDArray[np.float16]:
    """A copy that owns exactly its bytes and cannot be written to."""
    copy = np.array(array, dtype=np.float16, order="C")
    copy.flags.writeable = False
    return copy


async def _side_by_side(
    sentences: Sequence[Sentence], states: Sequence[States], reach: int | None, reads: EncodingCache
) -> DocumentStates | None:
    if not states:
        return None
    owners = [(sentence.index, part) for sentence in sentences for part in sentence.parts]
    stored = await offload(StoredDocument.of, states, [len(words_of(part)) for _, part in owners])
    contents = b"".join(_digest(part) for _, part in owners)
    return DocumentStates(stored, np.array([index for index, _ in owners], np.int64), contents, reach, reads)


def _digest(part: Part) -> bytes:
    made_of = pickle.dumps((part.source_ids, words_of(part)))
    return hashlib.blake2b(made_of, digest_size=DIGEST_BYTES).digest()


def context_of(sentence: Sentence) -> tuple[tuple[tuple[int, ...], tuple[int, ...] | None], ...]:
    """Everything that a sentence's states depend on."""
    return tuple((part.source_ids, part.context_ids) for part in sentence.parts)

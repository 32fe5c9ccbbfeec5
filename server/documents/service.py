"""What the API does with documents: create, read, wait, append, correct, explain, delete. Checks and calls only; the
work is done by `job_runner` for queued documents, `appending` and `correcting` for requests that wait."""

import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from server.backends.context import SentenceContext
from server.documents.appending import append
from server.documents.attention_weights import Explanation, explain
from server.documents.correcting import Correction, correct
from server.documents.cutting import cut_text, listed_sentences
from server.documents.drafts import without_draft
from server.documents.errors import Refused, TooLong, check_index, check_length
from server.documents.feeds import Feeds, Update
from server.documents.job_runner import JobRunner
from server.documents.memory_entries import keep_correction, with_entries
from server.documents.sentence_states import StateReader
from server.documents.two_stage import as_shown, check_explainable, legs_of
from server.documents.visibility import around
from server.documents.workspace import Workspace
from server.runtime.offload import offload
from server.settings import Settings
from server.stores.interface import FIRST_CHANGE, ChangePlace, ContextStore, Cursor, UnknownDocument
from server.stores.limits import NO_LIMITS, DocumentLimits
from server.stores.records import Document, Mode, Sentence
from server.stores.threads import in_store_thread
from server.telemetry.labels import RESTING_STATES, DocumentState
from server.translation.streaming import QUIET_SECONDS
from server.translation.translator import RequestedOptions, Translator
from server.translation_memory.index import MemoryIndex
from server.translation_memory.service import TranslationMemoryService

POLL_SECONDS = 0.25
"""How often a waiting request polls whether another process has finished the document."""
MAX_KNOWN_OWNERS = 10_000
"""Documents whose owners are cached: most requests about a document follow other requests about it."""


@dataclass(frozen=True)
class NewDocument:
    """A document to be created. `sources`: sentences, or one text that is cut into sentences. `options`: the search
    options of the request."""

    translator: Translator
    mode: Mode
    sources: Sequence[str] | str
    options: RequestedOptions
    owner: str = ""
    """The name of its key; "" on a server without keys."""
    then: Translator | None = None
    """The second of two models, which translates the first one's translations."""
    memory: tuple[str, MemoryIndex] | None = None
    """The id and the index of the translation memory that it names; not with two models."""


@dataclass(frozen=True)
class Page:
    """Some of the stored documents; `after` is where the next page begins, None on the last."""

    documents: list[Document]
    after: Cursor | None


class DocumentService:
    """Use it from one event loop. Most methods raise UnknownDocument, StoreError, and the errors of the engine."""

    def __init__(
        self,
        store: ContextStore,
        reader: StateReader,
        runner: JobRunner,
        translators: Mapping[str, Translator],
        settings: Settings,
        limits: Callable[[], DocumentLimits] = lambda: NO_LIMITS,
        memories: TranslationMemoryService | None = None,
    ) -> None:
        """`limits`: how much is kept of one owner and of all, at the moment. `memories` are those that documents
        name."""
        self.store, self.reader, self.runner = store, reader, runner
        self._settings = settings
        self._workspace = Workspace(store, reader, translators, settings.max_document_sentences, limits, memories)
        self._feeds = Feeds(store, runner.progress, runner.works_on)
        self._owners: OrderedDict[str, str] = OrderedDict()
        """Owners by document id, of the documents that were used last: an owner does not change."""

    async def create(self, new: NewDocument) -> tuple[Document, list[Sentence]]:
        """Store a new document and queue it. Raises TooLong, StoreFull, TooLargeToKeep."""
        max_sentences = self._settings.max_document_sentences
        if not isinstance(new.sources, str):
            check_length(len(new.sources), max_sentences)
        sentences, end = await offload(_cut, new)
        num_places = sum(sentence.num_places for sentence in sentences)
        check_length(num_places, max_sentences)
        if new.memory is not None:  # a translation may be far longer than its sentence
            sentences = await offload(with_entries, sentences, new.translator, new.memory[1])
        now = time.time()
        models = [new.translator] if new.then is None else [new.translator, new.then]
        num_pending = sum(sentence.is_pending for sentence in sentences)
        model = models[0 if sentences else -1]
        document = Document(
            secrets.token_urlsafe(18),
            model.name,
            model.fingerprint,
            models[0].languages[0],
            models[-1].languages[1],
            new.mode,
            "queued" if num_pending else "done",
            len(sentences),
            end=end,
            options=dict(new.options),
            created=now,
            touched=now,
            num_places=num_places,
            legs=legs_of(models),
            owner=new.owner,
            num_pending=num_pending,
            translation_memory_id=None if new.memory is None else new.memory[0],
        )
        await in_store_thread(self.store.create, document, sentences, self._workspace.limits)
        self.runner.wake()
        return document, sentences

    async def check_owner(self, document_id: str, owner: str) -> None:
        """Raises UnknownDocument for a document of another owner, as for one that does not exist."""
        stored = self._owners.get(document_id)
        if stored is None:
            stored = (await in_store_thread(self.store.document, document_id)).owner
            self._owners[document_id] = stored
            if len(self._owners) > MAX_KNOWN_OWNERS:
                self._owners.popitem(last=False)
        if stored != owner:
            raise UnknownDocument(document_id)

    async def page(
        self, owner: str | None, limit: int, after: Cursor | None, state: DocumentState | None = None
    ) -> Page:
        """Up to `limit` documents of an owner (None: of all) in a state (None: any), the newest first, from `after`
        on."""
        documents = await in_store_thread(self.store.page, owner, limit + 1, after, state)
        last = documents[limit - 1] if len(documents) > limit else None
        return Page(documents[:limit], None if last is None else Cursor(last.created, last.id))

    async def document(self, document_id: str) -> Document:
        """The document without its sentences."""
        return await in_store_thread(self.store.document, document_id)

    async def read(self, document_id: str, start: int = 0, end: int | None = None) -> tuple[Document, list[Sentence]]:
        """The document, whose `num_pending` is known, and its sentences: all, or `start` up to but without `end`."""
        document, sentences = await in_store_thread(self.store.read, document_id, start, end)
        if document.num_pending is None:
            document, stored = await in_store_thread(self.store.read, document_id)
            document = replace(document, num_pending=sum(sentence.is_pending for sentence in stored))
            sentences = stored[start:end]
        return document, as_shown(document, sentences)

    async def wait(self, document_id: str, deadline: float) -> tuple[Document, list[Sentence]]:
        """The document once it is done or failed, or as it is at `deadline` (a time.monotonic() value). While this
        process works on it, the store is not polled."""
        while (seconds_left := deadline - time.monotonic()) > 0:
            has_ended = await self.runner.ended(document_id, min(seconds_left, POLL_SECONDS))
            if not has_ended and self.runner.works_on(document_id):
                continue
            if has_ended or (await in_store_thread(self.store.document, document_id)).state in RESTING_STATES:
                document, sentences = await self.read(document_id)
                if document.state in RESTING_STATES:
                    return document, sentences
        return await self.read(document_id)

    def events(
        self, document_id: str, deadline: float, after: ChangePlace = FIRST_CHANGE
    ) -> AsyncGenerator[Update | None, None]:
        """The updates of a document after a place until it is done or failed, or until `deadline`; None when nothing
        happened for QUIET_SECONDS. Sentences that are stored already come first."""
        return self._feeds.updates(document_id, after, deadline, QUIET_SECONDS)

    async def delete(self, document_id: str) -> None:
        """Delete a document. A job of it stops at its next write."""
        await in_store_thread(self.store.delete, document_id)
        self.reader.cache.drop(document_id)

    async def append(
        self,
        document_id: str,
        sources: Sequence[str],
        first_index: int | None,
        deadline: float,
        explains: bool = False,
    ) -> tuple[Document, list[Sentence]]:
        """Continue an online document (see server.documents.appending)."""
        document, new = await append(self._workspace, document_id, sources, first_index, deadline, explains)
        if document.state == "queued":
            self.runner.wake()
        return document, as_shown(document, new)

    async def correct(
        self, document_id: str, index: int, correction: Correction, deadline: float
    ) -> tuple[Document, Sentence]:
        """Change a sentence (see server.documents.correcting)."""
        document, sentence = await correct(self._workspace, document_id, index, correction, deadline)
        if document.state == "queued":
            self.runner.wake()
        [shown] = as_shown(document, [sentence])
        return document, shown

    async def keep_correction(self, document: Document, sentence: Sentence) -> str | None:
        """Make a corrected sentence of a document that names a memory an entry of it; returns why it is none, None if
        it is one (see server.documents.memory_entries)."""
        memories, memory_id = self._workspace.memories, document.translation_memory_id
        assert memories is not None
        assert memory_id is not None
        return await keep_correction(memories, document.owner, memory_id, sentence.source, sentence.translation or "")

    async def explain(self, document_id: str, index: int) -> tuple[list[Sentence], Explanation | None]:
        """All sentences, and the attention of sentence `index`: None when it sees nothing. Translates nothing. Raises
        UnknownSentence, and Refused as long as something that it needs is not translated."""
        document, sentences = await self.read(document_id)
        check_index(index, len(sentences))
        check_explainable(document)
        async with self._workspace.model_of(document) as translator:
            return sentences, await self._explain(translator, document, sentences, index)

    async def _explain(
        self, translator: Translator, document: Document, sentences: list[Sentence], index: int
    ) -> Explanation | None:
        seen = around(document.mode, index, sentences, translator.reach)
        if translator.needs_drafts and sentences[index].translation is None:
            raise Refused(
                f"sentence {index} is not translated yet: with this model the translation attends, not the source"
            )
        if without_draft(translator, seen):
            raise Refused("the sentences that it sees are not translated yet; ask again when the document is done")
        states = await self.reader.of_document(translator, document.id, seen)
        if states is None:
            return None
        return await explain(translator, document.mode, sentences[index], states, seen)

    async def context_of(self, translator: Translator, sources: Sequence[str]) -> SentenceContext | None:
        """The context of a sentence that follows `sources`; None when these have no words, or the model has no context.
        Raises TooLong."""
        [context] = await self.contexts_of(translator, [sources])
        return context

    async def contexts_of(
        self, translator: Translator, contexts: Sequence[Sequence[str]]
    ) -> list[SentenceContext | None]:
        """`context_of` for several contexts; sentences that they share are computed once."""
        parts = await offload(
            lambda: [tuple(ids for text in texts for ids in translator.plan(text).source_ids) for texts in contexts]
        )
        max_sentences = self._settings.max_document_sentences
        for sentences in parts:
            if len(sentences) > max_sentences:
                raise TooLong(
                    f"the context has {len(sentences)} sentences, at most {max_sentences} are taken", "context"
                )
        states = await self.reader.of_texts(translator, parts)
        return [
            None if of_context is None else of_context.seen_by("online", len(sentences))
            for of_context, sentences in zip(states, parts, strict=True)
        ]


def _cut(new: NewDocument) -> tuple[list[Sentence], str]:
    if isinstance(new.sources, str):
        return cut_text(new.sources, new.translator)
    return listed_sentences(new.sources, new.translator), ""

"""Everything that the API does with documents: make, read, continue, correct, explain, delete."""

import asyncio
import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass

from server.backends.context import SentenceContext
from server.documents.appending import append
from server.documents.correcting import Correction, correct
from server.documents.cutting import cut_text, listed_sentences
from server.documents.drafts import without_draft
from server.documents.errors import Refused, TooLong, check_index, check_length
from server.documents.explain import Explanation, explain
from server.documents.job_runner import JobRunner
from server.documents.progress import Inbox, Translated
from server.documents.sentence_states import StateReader
from server.documents.two_stage import as_told, check_looks, legs_of
from server.documents.visibility import around
from server.documents.workspace import Workspace
from server.runtime.offload import offload
from server.settings import Settings
from server.stores.interface import ContextStore, Cursor, UnknownDocument
from server.stores.limits import NO_LIMITS, DocumentLimits
from server.stores.records import Document, Mode, Sentence
from server.stores.threads import in_store_thread
from server.telemetry.labels import RESTING_STATES
from server.translation.streaming import QUIET_SECONDS
from server.translation.translator import RequestedOptions, Translator

POLL_SECONDS = 0.25
"""How often somebody who waits looks whether another process finished the document."""
MAX_KNOWN_OWNERS = 10_000
"""Documents whose owners are remembered: most requests about a document follow others about it."""


@dataclass(frozen=True)
class NewDocument:
    """A document to be made. `sources`: sentences, or one text that is cut into sentences. `options`: what the request
    asked of the search."""

    translator: Translator
    mode: Mode
    sources: Sequence[str] | str
    options: RequestedOptions
    owner: str = ""
    """Whose it is; "" where it is everybody's."""
    then: Translator | None = None
    """The second of two models, which reads what the first says."""


@dataclass(frozen=True)
class Snapshot:
    """A document as it is, and how many of its sentences wait to be translated."""

    document: Document
    num_pending: int


@dataclass(frozen=True)
class Page:
    """Some of the documents that are kept; `after` is where the next page begins, None on the last."""

    documents: list[Document]
    after: Cursor | None


class DocumentService:
    """Everything about documents; use it from one event loop. Most methods raise UnknownDocument, StoreError, and what
    the engine raises."""

    def __init__(
        self,
        store: ContextStore,
        reader: StateReader,
        runner: JobRunner,
        translators: Mapping[str, Translator],
        settings: Settings,
        limits: DocumentLimits = NO_LIMITS,
    ) -> None:
        """`limits`: how much is kept of one owner and of all."""
        self.store, self.reader, self.runner = store, reader, runner
        self._settings = settings
        self._workplace = Workspace(store, reader, translators, settings.max_document_sentences, limits)
        self._owners: OrderedDict[str, str] = OrderedDict()
        """Owners by document id, as far as they were asked for lately: an owner does not change."""

    async def create(self, new: NewDocument) -> tuple[Document, list[Sentence]]:
        """Keep a new document and queue it. Raises TooLong, StoreFull, TooLargeToKeep."""
        longest = self._settings.max_document_sentences
        if not isinstance(new.sources, str):
            check_length(len(new.sources), longest)
        sentences, end = await offload(_cut, new)
        num_places = sum(one.num_places for one in sentences)
        check_length(num_places, longest)
        now = time.time()
        models = [new.translator] if new.then is None else [new.translator, new.then]
        turn = models[0 if sentences else -1]
        document = Document(
            secrets.token_urlsafe(18),
            turn.name,
            turn.fingerprint,
            models[0].languages[0],
            models[-1].languages[1],
            new.mode,
            "queued" if sentences else "done",
            len(sentences),
            end=end,
            options=dict(new.options),
            created=now,
            touched=now,
            num_places=num_places,
            legs=legs_of(models),
            owner=new.owner,
            num_pending=len(sentences),
        )
        await in_store_thread(self.store.create, document, sentences, self._workplace.limits)
        self.runner.wake()
        return document, sentences

    async def check_owner(self, document_id: str, owner: str) -> None:
        """Raises UnknownDocument for a document that is somebody else's, as for one that there is not."""
        kept = self._owners.get(document_id)
        if kept is None:
            kept = (await in_store_thread(self.store.document, document_id)).owner
            self._owners[document_id] = kept
            if len(self._owners) > MAX_KNOWN_OWNERS:
                self._owners.popitem(last=False)
        if kept != owner:
            raise UnknownDocument(document_id)

    async def page(self, owner: str | None, limit: int, after: Cursor | None) -> Page:
        """Up to `limit` documents of an owner (None: of all), the newest first, from `after` on."""
        found = await in_store_thread(self.store.page, owner, limit + 1, after)
        last = found[limit - 1] if len(found) > limit else None
        return Page(found[:limit], None if last is None else Cursor(last.created, last.id))

    async def document(self, document_id: str) -> Document:
        """The document without its sentences."""
        return await in_store_thread(self.store.document, document_id)

    async def read(self, document_id: str) -> tuple[Document, list[Sentence]]:
        document, sentences = await in_store_thread(self.store.read, document_id)
        return document, as_told(document, sentences)

    async def wait(self, document_id: str, deadline: float) -> tuple[Document, list[Sentence]]:
        """The document once it is done or failed, or as it is at `deadline` (a time.monotonic() value). While this
        process works on it, the store is not asked."""
        while (left := deadline - time.monotonic()) > 0:
            has_ended = await self.runner.ended(document_id, min(left, POLL_SECONDS))
            if not has_ended and self.runner.works_on(document_id):
                continue
            if has_ended or (await in_store_thread(self.store.document, document_id)).state in RESTING_STATES:
                document, sentences = await self.read(document_id)
                if document.state in RESTING_STATES:
                    return document, sentences
        return await self.read(document_id)

    async def events(
        self, document_id: str, deadline: float
    ) -> AsyncGenerator[Translated | Sentence | Snapshot | None, None]:
        """What happens to a document until it is done or failed, or until `deadline`: the sentences that are written
        already, then others as they are translated (where this process does that) and as they are written. A Snapshot
        follows whenever the document changed, None when nothing happened for QUIET_SECONDS. Sentences are read only
        when the document has changed."""
        written: dict[int, tuple[int, str | None]] = {}
        known: int | None = None
        with self.runner.listeners.listening(document_id) as inbox:
            quiet_since = time.monotonic()
            while True:
                document = None if known is None else await self.document(document_id)
                if document is None or document.version != known:
                    document, sentences = await self.read(document_id)
                    known = document.version
                    for one in sentences:
                        as_it_is = (one.version, one.translation)
                        if not one.is_pending and written.get(one.index) != as_it_is:
                            written[one.index] = as_it_is
                            yield one
                    yield Snapshot(document, sum(one.is_pending for one in sentences))
                    quiet_since = time.monotonic()
                    if document.state in RESTING_STATES:
                        return
                async for news in self._until_written(document_id, inbox, deadline):
                    quiet_since = time.monotonic()
                    yield news
                if (now := time.monotonic()) >= deadline:
                    return
                if now - quiet_since >= QUIET_SECONDS:
                    quiet_since = now
                    yield None

    async def _until_written(self, document_id: str, inbox: Inbox, deadline: float) -> AsyncGenerator[Translated, None]:
        """What this process translates, until something was written or may have been, QUIET_SECONDS at most."""
        until = min(deadline, time.monotonic() + QUIET_SECONDS)
        while (now := time.monotonic()) < until:
            try:
                async with asyncio.timeout(min(POLL_SECONDS, until - now)):
                    news = await inbox.get()
            except TimeoutError:
                if not self.runner.works_on(document_id):  # another process may: the store knows
                    return
                continue
            if news is None:
                return
            yield news

    async def delete(self, document_id: str) -> None:
        """Delete a document. Work on it stops when it next writes."""
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
        document, new = await append(self._workplace, document_id, sources, first_index, deadline, explains)
        if document.state == "queued":
            self.runner.wake()
        return document, as_told(document, new)

    async def correct(
        self, document_id: str, index: int, correction: Correction, deadline: float
    ) -> tuple[Document, Sentence]:
        """Change a sentence (see server.documents.correcting)."""
        document, sentence = await correct(self._workplace, document_id, index, correction, deadline)
        if document.state == "queued":
            self.runner.wake()
        [told] = as_told(document, [sentence])
        return document, told

    async def explain(self, document_id: str, index: int) -> tuple[list[Sentence], Explanation | None]:
        """All sentences, and where sentence `index` looks: None when it sees nothing. Translates nothing. Raises
        UnknownSentence, and Refused as long as something that it needs is not translated."""
        document, sentences = await self.read(document_id)
        check_index(index, len(sentences))
        check_looks(document)
        with self._workplace.working_on(document) as translator:
            return sentences, await self._explain(translator, document, sentences, index)

    async def _explain(
        self, translator: Translator, document: Document, sentences: list[Sentence], index: int
    ) -> Explanation | None:
        seen = around(document.mode, index, sentences, translator.reach)
        if translator.needs_drafts and sentences[index].translation is None:
            raise Refused(f"sentence {index} is not translated yet: with this model it is the translation that looks")
        if without_draft(translator, seen):
            raise Refused("the sentences that it sees are not translated yet; ask again when the document is done")
        states = await self.reader.of_document(translator, document.id, seen)
        if states is None:
            return None
        return await explain(translator, document, sentences[index], states, seen)

    async def context_of(self, translator: Translator, sources: Sequence[str]) -> SentenceContext | None:
        """The context of a sentence that follows `sources`; None when these have no words, or the model knows no
        context. Raises TooLong."""
        [context] = await self.contexts_of(translator, [sources])
        return context

    async def contexts_of(
        self, translator: Translator, several: Sequence[Sequence[str]]
    ) -> list[SentenceContext | None]:
        """`context_of` for several at once; sentences that they share are computed once."""
        parts = await offload(
            lambda: [tuple(ids for one in texts for ids in translator.plan(one).source_ids) for texts in several]
        )
        longest = self._settings.max_document_sentences
        for one in parts:
            if len(one) > longest:
                raise TooLong(f"the context has {len(one)} sentences, at most {longest} are taken", "context")
        states = await self.reader.of_texts(translator, parts)
        return [
            None if found is None else found.seen_by("online", len(one))
            for found, one in zip(states, parts, strict=True)
        ]


def _cut(new: NewDocument) -> tuple[list[Sentence], str]:
    if isinstance(new.sources, str):
        return cut_text(new.sources, new.translator)
    return listed_sentences(new.sources, new.translator), ""

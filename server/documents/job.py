"""Translates the pending sentences of a document in batches, each written before the next begins."""

import asyncio
import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence

from server.documents.drafts import with_drafts, without_draft
from server.documents.encoding_cache import EncodingCache
from server.documents.leases import Lease, LeaseLost, Reading, end, save
from server.documents.sentence_states import DocumentStates, StateReader, context_of
from server.documents.translate import Heard, translate_sentences
from server.documents.two_stage import cut_for_second, hand_over, is_uncut
from server.documents.visibility import within_reach
from server.engine.request import EngineStopped
from server.runtime.offload import offload
from server.scheduling.caller import in_background
from server.stores.interface import UnknownDocument
from server.stores.records import Document, Sentence
from server.stores.threads import in_store_thread
from server.text.protect.terms import Terms
from server.translation.glossary import TermRefused
from server.translation.translator import Translator

logger = logging.getLogger("ringmt")

BATCH = 128
"""Sentences between two writes: a crash loses no more."""
MAX_FAILURES = 3
"""The document has failed when so many of its batches have."""


class Unservable(RuntimeError):
    """No model here can finish the document; the message says why."""


class NotServed(Unservable):
    """The document's model is not served here, or not yet; the document waits for it."""


async def translate_pending(
    lease: Lease,
    translators: Mapping[str, Translator],
    reader: StateReader,
    batch: int = BATCH,
    told: Callable[[int, int], None] = lambda done, total: None,
    heard: Heard | None = None,
    terms: Terms | None = None,
    counts_flags: bool = True,
) -> None:
    """Translate until no sentence of the document is pending, those that come meanwhile included; where that was the
    first of two models, the document is then handed over to the second, and it is the caller's to go on. Before every
    batch, `told` is called with the number of sentences that are done and of all; `heard` (see translate_sentences) is
    called for every sentence before it is written. `counts_flags`: see translate_sentences. The document is
    read once, and again when somebody else changed it. Raises LeaseLost, UnknownDocument, Unservable, EngineStopped,
    StoreError, TermRefused, and the exception of the last of MAX_FAILURES batches that failed."""
    with in_background():
        await _translate_all(_Work(lease, translators, reader, batch, heard, terms, counts_flags), told)


async def _translate_all(work: "_Work", told: Callable[[int, int], None]) -> None:
    failures = 0
    while True:
        known = await work.known()
        pending = len(known.pending)
        told(len(known.sentences) - pending, len(known.sentences))
        if known.document.state == "done":
            return
        try:
            if pending:
                await work.next_batch()
            elif known.document.next_leg is None:
                await work.end()
            elif await work.hand_over():
                return
        except (EngineStopped, LeaseLost, TermRefused, UnknownDocument):
            raise
        except Exception:
            failures += 1
            if failures >= MAX_FAILURES:
                raise
            logger.exception("sentences of document %s failed, trying again", work.document_id)


class _Work:
    """A document under translation: what was last read of it, and the states of its sentences."""

    def __init__(
        self,
        lease: Lease,
        translators: Mapping[str, Translator],
        reader: StateReader,
        batch: int,
        heard: Heard | None,
        terms: Terms | None,
        counts_flags: bool,
    ) -> None:
        self._heard, self._terms, self._counts_flags = heard, terms, counts_flags
        self._lease, self._translators, self._reader, self._batch = lease, translators, reader, batch
        self._known: Reading | None = None
        self._cut: Reading | None = None
        """The last that is known to be cut for the second model."""
        self._reads = EncodingCache()
        self._states: tuple[object, DocumentStates | None] | None = None
        """States with the contents of the sentences that they are made of."""

    @property
    def document_id(self) -> str:
        return self._lease.document_id

    async def known(self) -> Reading:
        if self._known is None:
            self._known = await in_store_thread(Reading.of, self._lease.store, self._lease.document_id)
        if self._known is not self._cut:
            document, sentences = self._known.document, self._known.sentences
            if document.legs and any(map(is_uncut, sentences)):
                translator = translator_of(document, self._translators)
                self._known = Reading(document, await offload(cut_for_second, sentences, translator))
            self._cut = self._known
        return self._known

    async def end(self) -> None:
        """Nothing is pending: the document is done, unless somebody changed it; then it is read again."""
        known = await self.known()
        if known.document.state == "done" or await in_store_thread(end, self._lease, "done", known.document):
            self._known = Reading(dataclasses.replace(known.document, state="done"), known.sentences)
        else:
            self._known = None

    async def hand_over(self) -> bool:
        """The first of two models has said all: the second is to go on, unless somebody changed the document; then it
        is read again. Returns whether it was handed over."""
        known, self._known = await self.known(), None
        return await in_store_thread(hand_over, self._lease, known)

    async def next_batch(self) -> None:
        """Make drafts until all sentences have theirs, if the model needs drafts; then translations."""
        known = await self.known()
        translator = translator_of(known.document, self._translators)
        undrafted = without_draft(translator, known.sentences)
        if undrafted:
            await self._draft(translator, known, undrafted[: self._batch])
            return
        pending = known.pending
        planned = pending[: self._batch]
        states = await self._states_of(translator, known, planned)
        owner = self._lease.document_id
        done = await translate_sentences(
            translator,
            known.document,
            planned,
            states,
            owner=owner,
            heard=self._heard,
            terms=self._terms,
            counts_flags=self._counts_flags,
        )
        # What only a later batch reads again is encoded again: to look through all would make every batch take longer.
        soon = {part.source_ids for one in pending[self._batch : 2 * self._batch] for part in one.parts}
        self._reads.forget({part.source_ids for one in planned for part in one.parts} - soon)
        await self._save(known, planned, done)

    async def _draft(self, translator: Translator, known: Reading, planned: Sequence[Sentence]) -> None:
        """Make drafts. Where the next batch translates all that is pending, it writes them too."""
        longest = known.document.options.get("max_length")
        drafted = await with_drafts(translator, planned, longest, owner=self._lease.document_id, reads=self._reads)
        if len(known.pending) <= self._batch and all(one.is_pending for one in planned):
            self._known = Reading(known.document, known.with_changed(drafted))
        else:
            await self._save(known, planned, drafted)

    async def _states_of(
        self, translator: Translator, known: Reading, planned: Sequence[Sentence]
    ) -> DocumentStates | None:
        """The states of all sentences that the planned ones can see."""
        shown = within_reach(known.sentences, planned, translator.reach)
        contents = [(one.index, context_of(one)) for one in shown]
        if self._states is None or self._states[0] != contents:
            states = await self._reader.of_document(translator, self._lease.document_id, shown, self._reads)
            self._states = (contents, states)
        return self._states[1]

    async def _save(self, known: Reading, planned: Sequence[Sentence], done: Sequence[Sentence]) -> None:
        """Write a batch. A cancelled task waits for a write that has begun, so that it does not give the document back
        before the write ends."""
        saving = asyncio.ensure_future(in_store_thread(save, self._lease, known, planned, done))
        try:
            self._known = await asyncio.shield(saving)
        except asyncio.CancelledError:
            await asyncio.gather(saving, return_exceptions=True)
            raise


def translator_of(document: Document, translators: Mapping[str, Translator]) -> Translator:
    """The document's model. Raises NotServed, Unservable when it is served with other weights, and ModelUnavailable
    when its engine hangs or has failed."""
    translator = translators.get(document.model)
    if translator is None:
        raise NotServed(not_served(document))
    translator.check_ready()
    if translator.fingerprint != document.fingerprint:
        raise Unservable(
            f"model '{document.model}' has other weights here than when the document came: it was replaced, or servers "
            "that share a context store serve different models of one name. Send the document again"
        )
    return translator


def not_served(document: Document) -> str:
    return (
        f"model '{document.model}' is not served here: the document waits for a server that serves it and shares this "
        "context store. Start one, or send the document again for a model that is served"
    )

"""The job of one stored document: reads it under a lease, has its pending sentences translated
(`server.documents.batches`) and saves each batch before the next begins. Which document a process works on is the
business of `job_runner`.
"""

import asyncio
import dataclasses
from collections.abc import Mapping

from server.documents.batches import BATCH, Batch, BatchTranslator, FailedBatches, OnProgress
from server.documents.errors import Unservable
from server.documents.leases import DocumentSnapshot, Lease, LeaseLost, end, save
from server.documents.sentence_states import StateReader
from server.documents.translate import DocumentTask, OnSentence
from server.documents.two_stage import cut_for_second, hand_over, is_uncut
from server.documents.workspace import translator_of
from server.runtime.offload import offload
from server.scheduling.caller import in_background
from server.stores.interface import UnknownDocument
from server.stores.threads import in_store_thread
from server.translation.translator import Translator


async def translate_pending(
    lease: Lease,
    translators: Mapping[str, Translator],
    reader: StateReader,
    batch_size: int = BATCH,
    on_progress: OnProgress = lambda done, total: None,
    on_sentence: OnSentence | None = None,
) -> None:
    """Translate until no sentence of the document is pending, sentences that are added meanwhile included. A document
    of the first of two models is then handed over to the second, and the caller continues. `on_progress` is called
    before every batch, `on_sentence` (see translate_sentences) for every sentence before it is saved. The document is
    read once, and again when another process changed it. Raises LeaseLost, UnknownDocument, Unservable, EngineStopped,
    StoreError, and the exception of the last of MAX_FAILURES batches that failed."""
    job = _Job(lease, translators)
    batches, failures = BatchTranslator(reader, batch_size, on_sentence), FailedBatches(lease.document_id)
    with in_background():
        while True:
            snapshot = await job.read()
            on_progress(len(snapshot.sentences) - len(snapshot.pending), len(snapshot.sentences))
            if snapshot.document.state == "done":
                return
            with failures.tolerated(LeaseLost, UnknownDocument, Unservable):
                if snapshot.pending:
                    translator = translator_of(snapshot.document, translators)
                    task = DocumentTask.of(snapshot.document, translator)
                    await job.save(snapshot, await batches.next_batch(translator, task, snapshot.sentences))
                elif snapshot.document.next_leg is None:
                    await job.end(snapshot)
                elif await job.hand_over(snapshot):
                    return


class _Job:
    """A document under translation, as it was last read or saved."""

    def __init__(self, lease: Lease, translators: Mapping[str, Translator]) -> None:
        self._lease, self._translators = lease, translators
        self._snapshot: DocumentSnapshot | None = None
        self._cut: DocumentSnapshot | None = None
        """The last snapshot that is known to be cut for the second model."""

    async def read(self) -> DocumentSnapshot:
        """The document and its sentences, cut for the model whose stage it is."""
        if self._snapshot is None:
            self._snapshot = await in_store_thread(DocumentSnapshot.of, self._lease.store, self._lease.document_id)
        if self._snapshot is not self._cut:
            document, sentences = self._snapshot.document, self._snapshot.sentences
            if document.legs and any(map(is_uncut, sentences)):
                translator = translator_of(document, self._translators)
                self._snapshot = DocumentSnapshot(document, await offload(cut_for_second, sentences, translator))
            self._cut = self._snapshot
        return self._snapshot

    async def save(self, snapshot: DocumentSnapshot, batch: Batch) -> None:
        """Write a batch. A cancelled task waits for a write that has begun, so that it does not release the document
        before the write ends."""
        saving = asyncio.ensure_future(in_store_thread(save, self._lease, snapshot, batch.planned, batch.done))
        try:
            self._snapshot = await asyncio.shield(saving)
        except asyncio.CancelledError:
            await asyncio.gather(saving, return_exceptions=True)
            raise

    async def end(self, snapshot: DocumentSnapshot) -> None:
        """No sentence is pending: the document is done, unless another process changed it; then it is read again."""
        if await in_store_thread(end, self._lease, "done", snapshot.document):
            self._snapshot = DocumentSnapshot(dataclasses.replace(snapshot.document, state="done"), snapshot.sentences)
        else:
            self._snapshot = None

    async def hand_over(self, snapshot: DocumentSnapshot) -> bool:
        """The first of two models has translated all sentences: the second one continues, unless another process
        changed the document; then it is read again. Returns whether the document was handed over."""
        self._snapshot = None
        return await in_store_thread(hand_over, self._lease, snapshot)

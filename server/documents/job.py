"""Translating what is pending of a document, a batch at a time, each written before the next."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

from server.documents.drafts import with_drafts, without_draft
from server.documents.records import Document, Sentence
from server.documents.states import DocumentStates, StateReader
from server.documents.store import UnknownDocument
from server.documents.translate import translate_sentences
from server.documents.writing import Lease, LeaseLost, end, read_all, save
from server.engine.request import EngineStopped, Overloaded
from server.translator import Translator

logger = logging.getLogger("ringmt")

BATCH = 128
"""Sentences between two writes: what a crash loses."""
BACK_OFF_SECONDS = 0.1
"""How long to wait when the engine is full."""
MAX_FAILURES = 3
"""Times that a batch of sentences may fail before its document has failed."""


class Unservable(RuntimeError):
    """No model here can finish the document; the message says why."""


async def translate_document(
    lease: Lease,
    translators: Mapping[str, Translator],
    reader: StateReader,
    batch: int = BATCH,
    told: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Until no sentence of the document is pending, also of those that come meanwhile. `told` hears how many of how
    many sentences are done. Raises LeaseLost, UnknownDocument, Unservable, EngineStopped, StoreError, and what a batch
    raised that failed again and again."""
    failures = 0
    known: tuple[object, DocumentStates | None] | None = None
    while True:
        document, sentences = await asyncio.to_thread(read_all, lease.store, lease.document_id)
        translator = translator_of(document, translators)
        pending = [one for one in sentences if one.is_pending]
        told(len(sentences) - len(pending), len(sentences))
        if not pending:
            if await asyncio.to_thread(end, lease, "done", document):
                return
            continue
        undrafted = without_draft(translator, sentences)
        planned = (undrafted or pending)[:batch]
        try:
            if undrafted:
                done = await with_drafts(translator, planned, document.options.get("max_length"), owner=document.id)
            else:
                content = [(one.source_ids, one.draft_ids) for one in sentences]
                if known is None or known[0] != content:
                    known = (content, await reader.of_document(translator, document.id, sentences))
                done = await translate_sentences(translator, document, planned, known[1], owner=document.id)
        except Overloaded:
            await asyncio.sleep(BACK_OFF_SECONDS)
            continue
        except (EngineStopped, LeaseLost, UnknownDocument):
            raise
        except Exception:
            failures += 1
            if failures >= MAX_FAILURES:
                raise
            logger.exception("sentences of document %s failed, trying again", document.id)
            continue
        await _save(lease, planned, done)


async def _save(lease: Lease, pending: Sequence[Sentence], translated: Sequence[Sentence]) -> None:
    """A write that has begun is waited for, so that nobody gives the document back under it."""
    saving = asyncio.ensure_future(asyncio.to_thread(save, lease, pending, translated))
    try:
        await asyncio.shield(saving)
    except asyncio.CancelledError:
        await asyncio.gather(saving, return_exceptions=True)
        raise


def translator_of(document: Document, translators: Mapping[str, Translator]) -> Translator:
    """The document's model. Raises Unservable when it is not served here, or with other weights."""
    translator = translators.get(document.model)
    if translator is None:
        raise Unservable(f"model '{document.model}' is not served any more; send the document again")
    if translator.fingerprint != document.fingerprint:
        raise Unservable(f"model '{document.model}' has other weights than when the document came; send it again")
    return translator

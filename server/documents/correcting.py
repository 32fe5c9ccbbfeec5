"""Corrects a sentence: its source, its translation, or both. Other sentences that see it are only marked as pending: a
job translates them again."""

import asyncio
import dataclasses
from dataclasses import dataclass
from typing import Literal

from server.documents.cutting import cut, edited_parts
from server.documents.drafts import with_drafts
from server.documents.encoding_cache import EncodingCache
from server.documents.errors import check_index, check_length
from server.documents.leases import DocumentSnapshot, next_version
from server.documents.translate import DocumentTask, translate_sentences
from server.documents.two_stage import check_settled, check_source
from server.documents.visibility import affected, around, sees
from server.documents.workspace import Workspace
from server.runtime.offload import offload
from server.stores.interface import Conflict
from server.stores.records import Document, Sentence
from server.stores.threads import in_store_thread
from server.telemetry.labels import RESTING_STATES
from server.translation.translator import Translator


@dataclass(frozen=True)
class Correction:
    """A new source for a sentence, a translation that a person wrote, or both. `retranslate`: whether the sentences
    that see it are translated again."""

    source: str | None
    translation: str | None
    retranslate: Literal["none", "affected"] = "none"

    def changes_context(self, translator: Translator) -> bool:
        """Whether the correction changes what other sentences see."""
        return self.source is not None or translator.needs_drafts


async def correct(
    workspace: Workspace, document_id: str, index: int, correction: Correction, deadline: float
) -> tuple[Document, Sentence]:
    """Change a sentence; returns the document and the sentence as they are kept. A new source is translated at once,
    unless its translation came with it. The document is queued when others are to be translated again. Raises
    UnknownDocument, UnknownSentence, TooLong, Refused, and what translate_sentences raises."""
    known = await in_store_thread(DocumentSnapshot.of, workspace.store, document_id)
    check_index(index, len(known.sentences))
    check_settled(known.document)
    if correction.source is not None:
        check_source(known.document)
    async with workspace.model_of(known.document) as translator:
        return await _correct(workspace, translator, known, index, correction, deadline)


async def _correct(
    workspace: Workspace,
    translator: Translator,
    known: DocumentSnapshot,
    index: int,
    correction: Correction,
    deadline: float,
) -> tuple[Document, Sentence]:
    old, document = known.sentences[index], known.document
    changed = await offload(_corrected, old, correction, translator)
    check_length(document.num_places - old.num_places + changed.num_places, workspace.max_sentences)
    if changed.is_pending:
        sentences = known.with_changed([changed])
        seen = around(document.mode, index, sentences, translator.reach)
        encodings = EncodingCache()
        seen = await with_drafts(translator, seen, document.options.get("max_length"), deadline, encodings=encodings)
        states = await workspace.reader.of_document(translator, document.id, seen, encodings)
        task = DocumentTask.of(document, translator)
        [drafted] = [sentence for sentence in seen if sentence.index == index]
        [changed] = await translate_sentences(translator, task, [drafted], states, deadline)
    write = _Write(workspace, translator, correction, known, changed)
    return await asyncio.shield(asyncio.ensure_future(in_store_thread(write.keep)))


@dataclass(frozen=True)
class _Write:
    """`changed` is the corrected sentence, made when the document was as `known`."""

    workspace: Workspace
    translator: Translator
    correction: Correction
    known: DocumentSnapshot
    changed: Sentence

    def keep(self) -> tuple[Document, Sentence]:
        """Write the correction over the present version. Nothing is translated again here: where other requests changed
        what the translation was made of, the result is as if this correction had come before theirs."""
        now, store = self.known, self.workspace.store
        while True:
            corrected, others = self._over(now), self._affected(now)
            document = self._document(now, corrected, others)
            try:
                store.update(document, now.document.version, [corrected, *others], self.workspace.limits)
                return document, corrected
            except Conflict:
                now = DocumentSnapshot.of(store, self.known.document.id)

    def _over(self, now: DocumentSnapshot) -> Sentence:
        """The corrected sentence as the next version of the present one. It is stale when another correction has
        changed what it sees meanwhile, and requested that it is translated again."""
        index = self.changed.index
        old, current = self.known.sentences[index], now.sentences[index]
        if self.correction.source is None:  # its source may be another by now
            return _corrected(current, self.correction, self.translator)
        is_overtaken = current.version != old.version and self._seen(now) != self._seen(self.known)
        return dataclasses.replace(
            self.changed, version=current.version + 1, is_stale=is_overtaken and not self.changed.is_edited
        )

    def _seen(self, snapshot: DocumentSnapshot) -> list[tuple[str, str | None]]:
        """What the corrected sentence sees: sources, and what persons wrote where that is context."""
        mode, index = snapshot.document.mode, self.changed.index
        return [
            (seen.source, seen.translation if seen.is_edited and self.translator.needs_drafts else None)
            for seen in snapshot.sentences
            if sees(mode, index, seen.index, self.translator.reach) and seen.index < len(self.known.sentences)
        ]

    def _affected(self, now: DocumentSnapshot) -> list[Sentence]:
        """The sentences that see this one and are to be translated again; a person's translation stays. A sentence that
        waits for its first translation only gets a new version, so that a translation under way is not stored."""
        if self.correction.retranslate == "none" or not self.correction.changes_context(self.translator):
            return []
        return [
            dataclasses.replace(other, is_stale=other.translation is not None, version=other.version + 1)
            for other in affected(now.document.mode, self.changed.index, now.sentences, self.translator.reach)
            if not other.is_edited
        ]

    def _document(self, now: DocumentSnapshot, corrected: Sentence, others: list[Sentence]) -> Document:
        """The document after the write; it is queued when it has pending sentences and no process works on it."""
        document = now.document
        num_pending = sum(sentence.is_pending for sentence in now.with_changed([corrected, *others]))
        is_resting = document.state in RESTING_STATES
        return next_version(
            document,
            state=("queued" if num_pending else "done") if is_resting else document.state,
            error=None,
            num_pending=num_pending,
            num_places=document.num_places - now.sentences[corrected.index].num_places + corrected.num_places,
            revision=document.revision + self.correction.changes_context(self.translator),
        )


def _corrected(sentence: Sentence, correction: Correction, translator: Translator) -> Sentence:
    """The sentence with its correction; pending when it has a new source and no translation for it."""
    parts = sentence.parts if correction.source is None else cut(correction.source, translator)
    if correction.translation is not None:
        parts = edited_parts(parts, correction.translation, translator)
    return dataclasses.replace(
        sentence,
        source=sentence.source if correction.source is None else correction.source,
        parts=parts,
        translation=correction.translation,
        score=None,
        finish_reason=None,
        is_edited=correction.translation is not None,
        is_stale=False,
        version=sentence.version + 1,
        context_used=(),
        flags=(),
    )

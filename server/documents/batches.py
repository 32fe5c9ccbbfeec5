"""Translates the pending sentences of one document batch after batch, each sentence with the others as context.

Sentences go in, batches of translated sentences come out. Nothing here knows a store, a lease or a queue of documents:
the job of a stored document (`server.documents.job`) saves each batch, a file (`server.files`) only collects them.
"""

import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from server.documents.drafts import with_drafts, without_draft
from server.documents.encoding_cache import EncodingCache
from server.documents.sentence_states import DocumentStates, StateReader, context_of
from server.documents.translate import DocumentTask, OnSentence, translate_sentences
from server.documents.visibility import within_reach
from server.engine.request import EngineStopped
from server.scheduling.caller import in_background
from server.stores.records import Sentence, with_changed
from server.translation.glossary import TermRefused
from server.translation.translator import Translator

logger = logging.getLogger("ringmt")

BATCH = 128
"""Sentences of one batch, at most. A job writes after each batch: a crash loses no more sentences."""
BATCH_PIECES = 4096
"""Pieces of one batch, at most, unless a single sentence has more: the encodings of a batch are in memory together."""
MAX_FAILURES = 3
"""The document has failed when this number of its batches have failed."""

OnProgress = Callable[[int, int], None]
"""Called with the number of translated sentences and the number of all sentences."""


@dataclass(frozen=True)
class Batch:
    """Some sentences as they were `planned`, and the same sentences `done`: translated, or with their drafts."""

    planned: Sequence[Sentence]
    done: Sequence[Sentence]


class BatchTranslator:
    """Translates one document. Keeps between two batches what the next one needs: encodings and states."""

    def __init__(self, reader: StateReader, batch_size: int = BATCH, on_sentence: OnSentence | None = None) -> None:
        """`on_sentence`: see translate_sentences."""
        self._reader, self._batch_size, self._on_sentence = reader, batch_size, on_sentence
        self._encodings = EncodingCache()
        self._states: tuple[object, DocumentStates | None] | None = None
        """States with the contents of the sentences that they are made of."""

    async def next_batch(self, translator: Translator, task: DocumentTask, sentences: Sequence[Sentence]) -> Batch:
        """The first pending ones of `sentences`, which are all sentences of the document, translated. A model that
        needs drafts makes them first: a batch then has drafts, until no sentence lacks one; the drafts of a document
        that is one batch come with the translations. Raises what translate_sentences raises."""
        pending = [sentence for sentence in sentences if sentence.is_pending]
        undrafted = self._leading(without_draft(translator, sentences))
        if undrafted:
            longest = task.options.get("max_length")
            drafted = await with_drafts(
                translator, undrafted, longest, owner=task.document_id, encodings=self._encodings
            )
            if len(self._leading(pending)) < len(pending) or not all(sentence.is_pending for sentence in undrafted):
                return Batch(undrafted, drafted)
            sentences = with_changed(sentences, drafted)
            pending = [sentence for sentence in sentences if sentence.is_pending]
        planned = self._leading(pending)
        states = await self._states_of(translator, task, sentences, planned)
        done = await translate_sentences(
            translator, task, planned, states, owner=task.document_id, on_sentence=self._on_sentence
        )
        # Encodings that only a batch after the next needs are computed again: a search of all pending sentences would
        # make every batch take longer.
        next_planned = self._leading(pending[len(planned) :])
        soon = {part.source_ids for sentence in next_planned for part in sentence.parts}
        self._encodings.forget({part.source_ids for sentence in planned for part in sentence.parts} - soon)
        return Batch(planned, done)

    def _leading(self, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
        """The first of `sentences` that make one batch."""
        pieces = 0
        for count, sentence in enumerate(sentences[: self._batch_size]):
            pieces += sum(len(part.source_ids) for part in sentence.parts)
            if pieces > BATCH_PIECES and count:
                return sentences[:count]
        return sentences[: self._batch_size]

    async def _states_of(
        self, translator: Translator, task: DocumentTask, sentences: Sequence[Sentence], planned: Sequence[Sentence]
    ) -> DocumentStates | None:
        """The states of all sentences that the planned ones can see."""
        visible = within_reach(sentences, planned, translator.reach)
        contents = [(sentence.index, context_of(sentence)) for sentence in visible]
        if self._states is None or self._states[0] != contents:
            states = await self._reader.of_document(translator, task.document_id, visible, self._encodings)
            self._states = (contents, states)
        return self._states[1]


class FailedBatches:
    """Counts the failures of one document's batches."""

    def __init__(self, document_id: str) -> None:
        self._document_id, self._count = document_id, 0

    @contextlib.contextmanager
    def tolerated(self, *fatal: type[Exception]) -> Iterator[None]:
        """Log a failure of the block, so that the caller tries again. Raises the MAX_FAILURES-th failure, and always
        EngineStopped, TermRefused and `fatal`."""
        try:
            yield
        except Exception as error:
            if isinstance(error, (EngineStopped, TermRefused, *fatal)):
                raise
            self._count += 1
            if self._count >= MAX_FAILURES:
                raise
            logger.exception("sentences of document %s failed, trying again", self._document_id)


async def translate_all(
    translator: Translator,
    task: DocumentTask,
    sentences: Sequence[Sentence],
    reader: StateReader,
    on_progress: OnProgress,
) -> list[Sentence]:
    """All `sentences` of a document that no store keeps, with the pending ones translated. `on_progress` is called
    before every batch and at the end. Raises EngineStopped, TermRefused, and the last of MAX_FAILURES failures."""
    batches, failures = BatchTranslator(reader), FailedBatches(task.document_id)
    current = list(sentences)
    with in_background():
        while num_pending := sum(sentence.is_pending for sentence in current):
            on_progress(len(current) - num_pending, len(current))
            translator.check_ready()
            with failures.tolerated():
                current = with_changed(current, (await batches.next_batch(translator, task, current)).done)
    on_progress(len(current), len(current))
    return current

"""What a batch of a document was made of is freed with the batch, without the garbage collector, which comes seldom and
knows nothing of the size of arrays."""

import asyncio
import gc
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from server.backends.context import StoredDocument
from server.backends.pages import States
from server.documents import translate
from server.documents.batches import BatchTranslator
from server.documents.cutting import listed_sentences
from server.documents.sentence_states import DocumentCache, StateReader
from server.documents.translate import DocumentTask
from server.engine.request import SentenceRequest
from server.stores.records import Sentence, with_changed
from server.telemetry.metrics import Metrics
from server.translation.translator import Translator
from tests.server.api.conftest import settings_for, until


@pytest.fixture(scope="module")
def translator(document_artifact: Path) -> Iterator[Translator]:
    translator = Translator.load(document_artifact, settings_for(document_artifact).engine, Metrics())
    yield translator
    translator.stop(0)


@pytest.fixture
def states(monkeypatch: pytest.MonkeyPatch) -> Iterator[list["weakref.ref[StoredDocument]"]]:
    """The states of batches, if they are still in memory; there is no garbage collector."""
    references: list[weakref.ref[StoredDocument]] = []
    made = StoredDocument.of

    def tracked(sentences: Sequence[States], num_words: Sequence[int]) -> StoredDocument:
        document = made(sentences, num_words)
        references.append(weakref.ref(document))
        return document

    monkeypatch.setattr(StoredDocument, "of", tracked)
    gc.collect()
    gc.disable()
    yield references
    gc.enable()


def translate_document(translator: Translator) -> list[int]:
    """The indices of the sentences that were reported, of a document of three batches."""
    reported: list[int] = []
    task = DocumentTask("name", "offline", {"beam_size": 1, "length_penalty": None, "max_length": 4})

    async def scenario() -> list[Sentence]:
        batches = BatchTranslator(StateReader(DocumentCache(2**20)), 2, lambda index, _: reported.append(index))
        sentences = listed_sentences([f"It rains {number}." for number in range(6)], translator)
        while any(sentence.is_pending for sentence in sentences):
            sentences = with_changed(sentences, (await batches.next_batch(translator, task, sentences)).done)
        return sentences

    assert all(sentence.translation for sentence in asyncio.run(scenario()))
    return reported


def test_a_batch_is_freed_at_once(translator: Translator, states: list["weakref.ref[StoredDocument]"]) -> None:
    assert sorted(translate_document(translator)) == list(range(6))
    assert states
    until(lambda: all(reference() is None for reference in states), "the engine's thread has let go of them")


def test_a_callback_that_keeps_its_requests_is_noticed(
    translator: Translator, states: list["weakref.ref[StoredDocument]"], monkeypatch: pytest.MonkeyPatch
) -> None:
    def keeping(_: Translator, sentence: Sentence, requests: Sequence[SentenceRequest], on_sentence: object) -> None:
        for request in requests:
            request.future.add_done_callback(lambda _: np.sum([len(kept.source_ids) for kept in requests]))

    monkeypatch.setattr(translate, "_call_when_done", keeping)
    translate_document(translator)
    assert any(reference() is not None for reference in states)

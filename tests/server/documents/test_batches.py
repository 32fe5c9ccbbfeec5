"""Batches of a document's sentences: the same translations whether a store keeps the document or not."""

import asyncio
import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from server.documents import batches
from server.documents.batches import MAX_FAILURES, BatchTranslator, translate_all
from server.documents.cutting import listed_sentences
from server.documents.job import translate_pending
from server.documents.leases import Lease
from server.documents.sentence_states import DocumentCache, StateReader
from server.documents.translate import DocumentTask, translate_sentences
from server.engine.request import EngineStopped
from server.stores.memory import MemoryStore
from server.stores.records import Document, Mode, Sentence, with_changed
from server.telemetry.metrics import Metrics
from server.translation.translator import RequestedOptions, Translator
from tests.models import SENTENCES
from tests.server.api.conftest import settings_for
from tests.server.documents.some import document

OPTIONS = RequestedOptions(beam_size=2, length_penalty=None, max_length=8)
SOURCES = SENTENCES[:7]


@pytest.fixture(scope="module", params=["encoder", "decoder"])
def translator(request: pytest.FixtureRequest, document_artifacts: dict[str, Path]) -> Iterator[Translator]:
    folder = document_artifacts[request.param]
    loaded = Translator.load(folder, settings_for(folder).engine, Metrics())
    yield loaded
    loaded.stop(0)


def stored(translator: Translator, mode: Mode, batch_size: int) -> list[Sentence]:
    """The sentences of a document that a job translated and a store kept."""
    store = MemoryStore()
    sentences = listed_sentences(SOURCES, translator)
    kept: Document = document(
        model=translator.name,
        fingerprint=translator.fingerprint,
        mode=mode,
        num_sentences=len(sentences),
        options=dict(OPTIONS),
    )
    store.create(kept, sentences)
    lease, reader = Lease(store, kept.id, None, 0), StateReader(DocumentCache(2**20))
    asyncio.run(translate_pending(lease, {translator.name: translator}, reader, batch_size))
    return store.sentences(kept.id)


async def in_batches(translator: Translator, mode: Mode, batch_size: int) -> list[Sentence]:
    """The same without a store."""
    sentences = listed_sentences(SOURCES, translator)
    task, batches = DocumentTask("a", mode, OPTIONS), BatchTranslator(StateReader(DocumentCache(0)), batch_size)
    while any(sentence.is_pending for sentence in sentences):
        batch = await batches.next_batch(translator, task, sentences)
        assert [sentence.index for sentence in batch.done] == [sentence.index for sentence in batch.planned]
        assert len(batch.done) <= batch_size
        sentences = with_changed(sentences, batch.done)
    return sentences


@pytest.mark.parametrize("mode", ["offline", "online"])
@pytest.mark.parametrize("batch_size", [1, 3, 128])
def test_a_document_that_no_store_keeps_has_the_same_translations(
    translator: Translator, mode: Mode, batch_size: int
) -> None:
    expected = [(sentence.translation, sentence.context_used) for sentence in stored(translator, mode, batch_size)]
    assert len({translation for translation, _ in expected}) > 1
    for size in (batch_size, 2):
        done = asyncio.run(in_batches(translator, mode, size))
        assert [sentence.translation for sentence in done] == [translation for translation, _ in expected]
        assert [[index for index, _ in sentence.context_used] for sentence in done] == [
            [index for index, _ in used] for _, used in expected
        ]


@pytest.mark.parametrize("limit", [1, 12, 30])
def test_a_batch_has_a_limit_of_pieces(translator: Translator, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """But always one sentence, and as many as the limit permits."""
    whole = asyncio.run(in_batches(translator, "offline", 128))
    monkeypatch.setattr(batches, "BATCH_PIECES", limit)
    sentences = listed_sentences(SOURCES, translator)
    sizes = [sum(len(part.source_ids) for part in sentence.parts) for sentence in sentences]
    task, translations = DocumentTask("a", "offline", OPTIONS), BatchTranslator(StateReader(DocumentCache(0)))

    async def run(current: list[Sentence]) -> list[Sentence]:
        while any(sentence.is_pending for sentence in current):
            batch = await translations.next_batch(translator, task, current)
            start, end = batch.planned[0].index, batch.planned[-1].index + 1
            assert end - start == len(batch.planned)
            assert sum(sizes[start:end]) <= limit or end == start + 1
            assert end == len(sizes) or sum(sizes[start : end + 1]) > limit
            current = with_changed(current, batch.done)
        return current

    assert [sentence.translation for sentence in asyncio.run(run(sentences))] == [
        sentence.translation for sentence in whole
    ]


def progress_of(translator: Translator, sentences: Sequence[Sentence]) -> tuple[list[Sentence], list[tuple[int, int]]]:
    progress: list[tuple[int, int]] = []

    def on_progress(done: int, total: int) -> None:
        progress.append((done, total))

    task = DocumentTask("a", "offline", OPTIONS)
    done = asyncio.run(translate_all(translator, task, sentences, StateReader(DocumentCache(0)), on_progress))
    return done, progress


def test_progress_counts_sentences_and_ends_with_all(translator: Translator) -> None:
    sentences = listed_sentences(SOURCES, translator)
    done, progress = progress_of(translator, sentences)
    assert not any(sentence.is_pending for sentence in done)
    assert (progress[0], progress[-1]) == ((0, len(SOURCES)), (len(SOURCES), len(SOURCES)))
    assert progress == sorted(progress)
    finished = [dataclasses.replace(sentence, translation="Ja.") for sentence in sentences]
    assert progress_of(translator, finished) == (finished, [(len(SOURCES), len(SOURCES))])
    assert progress_of(translator, []) == ([], [(0, 0)])


@pytest.mark.parametrize("num_failures", [1, MAX_FAILURES - 1, MAX_FAILURES])
def test_a_batch_that_fails_is_tried_again(
    translator: Translator, num_failures: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0

    async def failing(*arguments: Any, **named: Any) -> list[Sentence]:
        nonlocal calls
        calls += 1
        if calls <= num_failures:
            raise RuntimeError("broken")
        return await translate_sentences(*arguments, **named)

    monkeypatch.setattr(batches, "translate_sentences", failing)
    if num_failures == MAX_FAILURES:
        with pytest.raises(RuntimeError, match="broken"):
            progress_of(translator, listed_sentences(SOURCES, translator))
    else:
        done, progress = progress_of(translator, listed_sentences(SOURCES, translator))
        assert not any(sentence.is_pending for sentence in done)
        assert progress.count((0, len(SOURCES))) == num_failures + 1


def test_a_stopped_engine_is_not_asked_again(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0

    async def stopped(*_: Any, **__: Any) -> list[Sentence]:
        nonlocal calls
        calls += 1
        raise EngineStopped("the server is stopping")

    monkeypatch.setattr(batches, "translate_sentences", stopped)
    with pytest.raises(EngineStopped):
        progress_of(translator, listed_sentences(SOURCES, translator))
    assert calls == 1

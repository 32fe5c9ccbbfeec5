"""Of a document whose sentences look only so far, nothing else is read, kept or laid out."""

import asyncio
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest

from server.documents import correcting, service
from server.documents.correcting import Correction
from server.documents.sentence_states import AppendedDocument, DocumentStates
from server.documents.service import DocumentService
from server.documents.state_cache import Place
from server.documents.visibility import sees
from server.settings import EngineSettings
from server.stores.records import Document, Mode, Sentence
from server.telemetry.metrics import Metrics
from server.translation.translator import Translator
from tests.documents import lively_document_model, write_document_artifact
from tests.server.api.conftest import settings_for
from tests.server.documents.test_store_calls import serving, translated, until

REACH = 2
TEXTS = [
    "The girl walks home in the rain.", "She has a red umbrella.", "It is not hers.", "Yes.", "Where is it?",
    "At the station.", "Under a bench.", "The rain stops.", "It is late.", "She sleeps.",
]  # fmt: skip


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Translator]:
    model = lively_document_model()
    model.config = dataclasses.replace(model.config, reach=REACH)
    artifact = write_document_artifact(model, tmp_path_factory.mktemp("reach"), graphs=(("onnx", "int8"),))
    engine = EngineSettings(slots=4, max_waiting=512, num_workers=1, shortlist="on", max_beam_size=4)
    result = Translator.load(artifact, settings_for(artifact, engine).engine, Metrics())
    yield result
    result.stop(0)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch, translator: Translator) -> list[tuple[int, ...]]:
    """The sentences whose states were computed."""
    results: list[tuple[int, ...]] = []
    compute = translator.worker.side_tasks.encode_sources

    def noted(sources: Iterable[Sequence[int]], owner: Any = None) -> Any:
        some = [tuple(ids) for ids in sources]
        results.extend(some)
        return compute(some, owner)

    monkeypatch.setattr(translator.worker.side_tasks, "encode_sources", noted)
    return results


def answers(sentences: Sequence[Sentence]) -> list[Any]:
    return [(sentence.parts, sentence.translation, sentence.score, sentence.context_used) for sentence in sentences]


def kept_states(documents: DocumentService, translator: Translator, document: Document) -> DocumentStates:
    kept = documents.reader.cache.get(Place(document.id, translator.fingerprint, None), document.revision)
    assert isinstance(kept, AppendedDocument)
    assert kept.states is not None
    assert kept.num_sentences == document.num_sentences
    return kept.states


@pytest.mark.parametrize("steps", [(1,) * 8, (3, 5), (1, 4, 3)])
def test_a_document_that_grows_is_translated_as_at_once(translator: Translator, steps: tuple[int, ...]) -> None:
    """And what is kept for the next append is what it can see."""

    async def scenario() -> None:
        async with serving({translator.name: translator}) as (documents, _):
            whole, _ = await translated(documents, translator, TEXTS, "online")
            grown, _ = await translated(documents, translator, TEXTS[:2], "online")
            done = 2
            for count in steps:
                longer, _ = await documents.append(grown.id, TEXTS[done : done + count], None, until())
                done += count
                assert kept_states(documents, translator, longer).stored.num_sentences <= REACH
            assert done == len(TEXTS)
            expected, actual = await documents.read(whole.id), await documents.read(grown.id)
            assert answers(actual[1]) == answers(expected[1])
            assert any(sentence.context_used for sentence in actual[1])

    asyncio.run(scenario())


def test_an_append_reads_what_it_sees(translator: Translator, read: list[tuple[int, ...]]) -> None:
    async def scenario() -> None:
        async with serving({translator.name: translator}) as (documents, store):
            document, _ = await translated(documents, translator, TEXTS[:-1], "online")
            documents.reader.cache.drop(document.id)
            store.num_read = 0
            read.clear()
            await documents.append(document.id, TEXTS[-1:], None, until())
            assert store.num_read == REACH
            assert len(read) == REACH + 1

    asyncio.run(scenario())


@pytest.mark.parametrize("mode", ["online", "offline"])
def test_a_correction_and_an_explanation_read_what_they_see(
    translator: Translator, read: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch, mode: Mode
) -> None:
    """The twin has the states of all sentences at hand."""
    index, most = 5, REACH + 1 if mode == "online" else 2 * REACH + 1

    async def scenario() -> tuple[list[int], Any]:
        async with serving({translator.name: translator}) as (documents, _):
            document, _ = await translated(documents, translator, TEXTS, mode)
            counts = []
            for work in (
                lambda: documents.explain(document.id, index),
                lambda: documents.correct(document.id, index, Correction("At the old station.", None), until()),
            ):
                documents.reader.cache.drop(document.id)
                read.clear()
                actual = await work()
                counts.append(len(read))
                if isinstance(actual[1], Sentence):
                    result = answers([actual[1]])
                else:
                    explanation = actual[1]
            return counts, (result, explanation)

    counts, actual = asyncio.run(scenario())
    assert counts == [most, most]
    everything: Callable[..., list[Sentence]] = lambda mode, index, sentences, reach: list(sentences)  # noqa: E731
    for module in (service, correcting):
        monkeypatch.setattr(module, "around", everything)
    counts, expected = asyncio.run(scenario())
    assert counts == [len(TEXTS)] * 2
    assert actual == expected
    assert set(actual[1].seen) <= {other for other in range(len(TEXTS)) if sees(mode, index, other, REACH)}


def test_a_sentence_that_is_shared_is_not_read_again(translator: Translator, read: list[tuple[int, ...]]) -> None:
    """With the translation cache, too, a sentence is encoded once."""
    assert translator.settings.translation_cache_bytes
    encode, counts = translator.worker._engines[0].backend.context, []
    assert encode is not None
    run = encode.encode_in_context

    def counted(*given: Any) -> Any:
        counts.append(given)
        return run(*given)

    async def scenario() -> None:
        async with serving({translator.name: translator}) as (documents, _):
            new = [f"Nobody said this before: {text}" for text in TEXTS]
            await translated(documents, translator, new, "offline")
            assert len(read) == len(new)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encode, "encode_in_context", counted)
        asyncio.run(scenario())
    assert not counts

"""A sentence of a document is encoded once: for its draft, its states, its translation, and where that looked."""

import asyncio
import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from server.backends.arrays import Array
from server.backends.context import EncodedSource, SentenceContext, full_context
from server.backends.onnx.session import OnnxGraph
from server.documents import encoding_cache
from server.documents.sentence_states import StateReader, context_of
from server.documents.state_cache import Place
from server.settings import EngineSettings
from server.stores.records import Document, Mode, Sentence
from server.telemetry.metrics import Metrics
from server.translation import length_check
from server.translation.scoring import ScoringItem, score
from server.translation.translator import Translator
from tests.documents import lively_document_model, write_document_artifact
from tests.server.api.conftest import settings_for
from tests.server.documents.test_store_calls import serving, translated, until

SOURCES = ["The girl walks home in the rain.", "She has a red umbrella.", "It is not hers.", "Yes.", "Where is it?"]
APPENDED = ["At the station.", "Under a bench.", "The rain stops."]


@pytest.fixture(scope="module", params=["encoder", "decoder"])
def translator(document_artifacts: dict[str, Path], request: pytest.FixtureRequest) -> Iterator[Translator]:
    document_artifact = document_artifacts[request.param]
    engine = EngineSettings(
        slots=4, max_waiting=512, num_workers=1, shortlist="on", max_beam_size=4, translation_cache_bytes=0
    )
    result = Translator.load(document_artifact, settings_for(document_artifact, engine).engine, Metrics())
    yield result
    result.stop(0)


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many sentences every run of an encode graph was given. No translation is taken for a short one: these are
    encoded again, to be compared with their sources."""
    monkeypatch.setattr(length_check, "MIN_PIECES", 10**6)
    counts: list[int] = []
    run = OnnxGraph.run

    def counted(graph: OnnxGraph, outputs: list[str], feeds: Mapping[str, Array]) -> list[Array]:
        if graph.name.startswith("encode"):
            counts.append(len(feeds["source_ids"]))
        return run(graph, outputs, feeds)

    monkeypatch.setattr(OnnxGraph, "run", counted)
    return counts


@pytest.mark.parametrize("mode", ["offline", "online"])
def test_sentences_of_a_document_and_appended_ones(translator: Translator, encoded: list[int], mode: Mode) -> None:
    async def scenario() -> None:
        async with serving({translator.name: translator}) as (documents, _):
            document, _ = await translated(documents, translator, SOURCES, mode)
            assert sum(encoded) == len(SOURCES)
            if mode == "online":
                for count, text in enumerate(APPENDED, 1):
                    await documents.append(document.id, [text], None, until())
                    assert sum(encoded) == len(SOURCES) + count
                await documents.append(document.id, APPENDED, None, until())
                assert sum(encoded) == len(SOURCES) + 2 * len(APPENDED)

    asyncio.run(scenario())


@pytest.fixture(scope="module")
def near_sighted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An artifact whose sentences see two others."""
    model = lively_document_model()
    model.config = dataclasses.replace(model.config, reach=2)
    return write_document_artifact(model, tmp_path_factory.mktemp("near"), graphs=(("onnx", "fp32"),))


@pytest.mark.parametrize("mode", ["offline", "online"])
def test_a_long_document_of_sentences_that_see_not_far_keeps_no_more_than_a_batch(
    encoded: list[int], mode: Mode, near_sighted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """230 sentences in batches of 128, with room for 140 encodings. The same as where all are kept."""
    artifact = near_sighted
    result = Translator.load(artifact, settings_for(artifact).engine, Metrics())
    sources = [f"The girl has {number} umbrellas." if number % 50 else "Yes." for number in range(230)]

    async def scenario() -> list[Any]:
        async with serving({result.name: result}) as (documents, _):
            _, sentences = await translated(documents, result, sources, mode)
            return [(sentence.parts, sentence.translation, sentence.context_used) for sentence in sentences]

    try:
        everything = asyncio.run(scenario())
        encoded.clear()
        monkeypatch.setattr(EncodedSource, "num_bytes", property(lambda read: 1))
        monkeypatch.setattr(encoding_cache, "ENCODING_CACHE_BYTES", 140)
        assert asyncio.run(scenario()) == everything
        assert sum(encoded) == len(set(sources))
    finally:
        result.stop(0)


def test_it_changes_nothing(translator: Translator, encoded: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Translations, scores and states bit for bit, at int8: the twin encodes for everything anew, on the decoder's side
    for drafts and for where translations looked, too (the first sentence of an online document has nowhere to look)."""

    async def scenario() -> tuple[list[Any], list[Any]]:
        async with serving({translator.name: translator}) as (documents, _):
            document, _ = await translated(documents, translator, SOURCES, "online")
            await documents.append(document.id, APPENDED, None, until())
            result, sentences = await documents.read(document.id)
            states = await kept(documents.reader, translator, result, sentences)
            return [
                (sentence.parts, sentence.translation, sentence.score, sentence.context_used) for sentence in sentences
            ], states

    once = asyncio.run(scenario())
    number = sum(encoded)
    monkeypatch.setattr(encoding_cache, "ENCODING_CACHE_BYTES", 0)
    assert asyncio.run(scenario()) == once
    assert sum(encoded) - number == (4 * number - 1 if translator.needs_drafts else 2 * number)


def test_kept_states_are_halves_that_nobody_can_change(translator: Translator) -> None:
    async def scenario() -> None:
        async with serving({translator.name: translator}) as (documents, _):
            document, _ = await translated(documents, translator, SOURCES, "offline")
            _, sentences = await documents.read(document.id)
            for sentence in sentences:
                place = Place(document.id, translator.fingerprint, sentence.index)
                result = documents.reader.cache.get(place, context_of(sentence))
                assert isinstance(result, tuple)
                arrays = [array for states in result for array in states.values()]
                assert [array.dtype for array in arrays] == [np.float16] * len(arrays) != []
                assert all(array.flags.owndata and not array.flags.writeable for array in arrays)

    asyncio.run(scenario())


async def kept(reader: StateReader, translator: Translator, document: Document, sentences: list[Sentence]) -> list[Any]:
    states = await reader.of_document(translator, document.id, sentences)
    assert states is not None
    return [
        (index, name, array.tobytes())
        for index, page in enumerate(states.stored.pages)
        for name, array in page.states.items()
    ]


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_contexts_that_are_prepared_together_are_those_prepared_alone(
    document_artifacts: dict[str, Path], encoded: list[int], side: str
) -> None:
    artifact = document_artifacts[side]
    model = Translator.load(artifact, settings_for(artifact).engine, Metrics())
    several = [SOURCES[:2], [], SOURCES[:3], SOURCES[:2], ["Yes.", "Yes."]]

    async def scenario() -> None:
        async with serving({model.name: model}) as (documents, _):
            encoded.clear()
            together = await documents.contexts_of(model, several)
            number, different = sum(encoded), {text for texts in several for text in texts}
            assert number <= len(different)
            for texts, item in zip(several, together, strict=True):
                alone = await documents.context_of(model, texts)
                assert (item is None) == (alone is None) == (not texts)
                if item is not None and alone is not None:
                    mine, theirs = (context.stored.tensors(context.distance) for context in (item, alone))
                    assert {name: x.tobytes() for name, x in mine.items()} == {
                        name: x.tobytes() for name, x in theirs.items()
                    }
                    assert item.key == alone.key

    try:
        asyncio.run(scenario())
    finally:
        model.stop(0)


SCORED = [
    (["The girl walks home.", "She has a red umbrella.", "It is not hers."], "It is red.", ["Er ist rot.", "Es."]),
    (["She has a red umbrella."], "It is not hers.", ["Es ist nicht ihres."]),
    ([], "It rains.", ["Es regnet."]),
    (["Where is it?", "At the station.", "Under a bench."], "It rains.", ["Es regnet.", "Er regnet."]),
    (["The rain stops.", "It is not hers."], "Where is it?", ["Wo ist er?"]),
]
"""Contexts, sources and translations: seven different sentences in the contexts, two of them twice."""


def test_scores_with_contexts_that_are_read_together_are_those_of_items_alone(
    translator: Translator, encoded: list[int]
) -> None:
    """At int8, beside a twin that represents every sentence by itself (with drafts: that prepares every context by
    itself). Every sentence of the contexts is encoded once, in few runs, and every source once."""

    async def scenario() -> None:
        async with serving({translator.name: translator}) as (documents, _):
            contexts = await documents.contexts_of(translator, [before for before, _, _ in SCORED])
            assert (sum(encoded), len(encoded)) == (7, 2)  # of two lengths
            items = [
                ScoringItem(source, targets, context)
                for (_, source, targets), context in zip(SCORED, contexts, strict=True)
            ]
            together = await score(translator, items, None)
            assert sum(encoded) == 7 + len(SCORED)
            for (before, source, targets), target in zip(SCORED, together.targets, strict=True):
                drafted = await documents.context_of(translator, before) if translator.needs_drafts else None
                context = drafted or one_by_one(translator, before)
                alone = await score(translator, [ScoringItem(source, targets, context)], None)
                for first, other in zip(target, alone.targets[0], strict=True):
                    assert first.log_probabilities == pytest.approx(other.log_probabilities, abs=1e-4)

    asyncio.run(scenario())


def one_by_one(translator: Translator, texts: list[str]) -> SentenceContext | None:
    context, sources = translator.worker.context, translator.source_pieces.encode(texts)
    assert context is not None
    return full_context([context.compute_states(ids) for ids in sources], [len(ids) - 1 for ids in sources])

"""Sentences with their document as context, in the same running batch as everybody else's."""

import random
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from export.context_parity import half_precision
from model import document_search
from model.config import CONTEXT_ATTENTIONS
from model.document import DocumentModel
from model.document_search import contextual_search, search_document, stack_store, store_sentence
from server.artifact.artifact import Artifact
from server.backends.base import Backend
from server.backends.context import SentenceContext, StoredDocument, full_context
from server.backends.load import UseShortlist, load_backend
from server.backends.onnx.context import OnnxContext
from server.engine.request import SearchOptions, SentenceRequest, SentenceResult
from tests.documents import ContextArtifact, lively_document_model
from tests.server.backends.test_pages import some_states
from tests.server.engine.conftest import LoadBackend
from tests.server.engine.runs import Arrival, new_engine, play, random_source, run
from tests.server.engine.test_engine import assert_same, some_sources

OPTIONS = SearchOptions(beam_size=3, num_hypotheses=2, max_length=20)
Way = tuple[str, UseShortlist]
WAYS: list[Way] = [("fp32", "off"), ("int8", "on")]
Ids = tuple[int, ...]


def stored(backend: Backend, sources: Sequence[Ids]) -> StoredDocument:
    assert backend.context is not None
    return StoredDocument.of(list(map(backend.context.compute_states, sources)), [len(ids) - 1 for ids in sources])


def contexts(backend: Backend, sources: Sequence[Ids], online: bool) -> list[SentenceContext | None]:
    """What every sentence of a document sees."""
    document, index = stored(backend, sources), np.arange(len(sources))
    has_words = np.array([len(ids) > 1 for ids in sources])
    results: list[SentenceContext | None] = []
    for own in index:
        visible = (index < own if online else index != own) & has_words
        results.append(SentenceContext(document, visible) if visible.any() else None)
    return results


def translate_in_context(
    backend: Backend, sources: Sequence[Ids], seen: Sequence[SentenceContext | None], slots: int = 4
) -> list[SentenceResult]:
    engine = new_engine(backend, slots)
    requests = [SentenceRequest(*both) for both in zip(sources, [OPTIONS] * len(sources), seen, strict=True)]
    engine.queue.put(requests)
    run(engine)
    return [request.future.result(timeout=0) for request in requests]


@pytest.mark.parametrize("online", [False, True], ids=["offline", "online"])
@pytest.mark.parametrize("attention", CONTEXT_ATTENTIONS)
def test_documents_are_translated_as_the_reference_protocol_does(
    attention: str, online: bool, context_artifact: ContextArtifact, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference keeps states at half precision, as the server does: where two hypotheses are nearly equal, that
    decides."""
    monkeypatch.setattr(document_search, "stack_store", lambda sentences: half_precision(stack_store(sentences)))
    model = lively_document_model(attention)
    artifact = Artifact.load(context_artifact(attention, "encoder"))
    backend = load_backend(artifact, "onnx", "fp32", "off")
    sources = [*some_sources(4, seed=2), (3,)]
    actual = translate_in_context(backend, sources, contexts(backend, sources, online))
    expected = search_document(
        model, [ids[:-1] for ids in sources], online, beam_size=3, num_hypotheses=2, max_length=20
    )
    for result, hypotheses in zip(actual, expected, strict=True):
        assert [h.ids for h in result.hypotheses] == [h.ids for h in hypotheses]
        for ours, theirs in zip(result.hypotheses, hypotheses, strict=True):
            assert ours.score == pytest.approx(theirs.score, abs=1e-3)
    assert sum(result.context is not None for result in actual) == (4 if online else 5)


@settings(deadline=None, max_examples=5)
@given(data=st.data())
def test_whoever_is_visible_it_is_the_reference_search(
    load_document: LoadBackend, document_model: DocumentModel, data: st.DataObject
) -> None:
    """Against the same rounded states, so that scores agree closely: any sentence may be hidden, empty or long."""
    generator = random.Random(data.draw(st.integers(0, 10_000)))
    backend = load_document("onnx", "fp32")
    document = [random_source(generator) for _ in range(data.draw(st.integers(1, 6)))]
    visible = np.array([len(ids) > 1 and data.draw(st.booleans()) for ids in document])
    source = random_source(generator)
    seen = SentenceContext(stored(backend, document), visible) if visible.any() else None
    (actual,) = translate_in_context(backend, [source], [seen])
    store = half_precision(stack_store([store_sentence(document_model, ids[:-1]) for ids in document]))
    (expected, *_) = contextual_search(
        document_model, source[:-1], store, torch.from_numpy(visible)[None], beam_size=3, max_length=20
    )
    assert actual.hypotheses[0].ids == expected.ids
    assert actual.hypotheses[0].score == pytest.approx(expected.score, abs=1e-3)
    assert (actual.context is None) == (not visible.any())


def test_the_reference_notices_context(load_document: LoadBackend) -> None:
    """Or the comparisons above would say little."""
    backend = load_document("onnx", "fp32")
    sources = some_sources(12, seed=5)
    alone = translate_in_context(backend, sources, [None] * 12)
    within = translate_in_context(backend, sources, contexts(backend, sources, online=False))
    assert sum(a.hypotheses[0].ids != b.hypotheses[0].ids for a, b in zip(alone, within, strict=True)) >= 3


@settings(deadline=None, max_examples=5)
@given(seed=st.integers(0, 10_000), slots=st.sampled_from([1, 3, 16]), way=st.sampled_from(WAYS))
def test_a_sentence_in_context_is_the_same_alone_and_in_any_batch(
    load_document: LoadBackend, seed: int, slots: int, way: Way
) -> None:
    """Sentences of two documents and sentences of none, some cancelled, in any order of arrival."""
    generator, backend = random.Random(seed), load_document("onnx", *way)
    arrivals = []
    for online in (False, True, None):
        sources = [random_source(generator) for _ in range(8)]
        seen = [None] * 8 if online is None else contexts(backend, sources, online)
        for source, context in zip(sources, seen, strict=True):
            cancel_after = generator.choice([None, None, None, generator.randrange(20)])
            options = SearchOptions(beam_size=generator.choice([1, 3, 4, 4]), max_length=generator.choice([5, 30]))
            arrivals.append(Arrival(generator.randrange(40), source, options, cancel_after, context))
    generator.shuffle(arrivals)
    for arrival, request in zip(arrivals, play(backend, arrivals, slots), strict=True):
        if request.future.exception(timeout=0) is None:
            (alone,) = play(backend, [Arrival(0, arrival.source, arrival.options, None, arrival.context)], slots=1)
            result, expected = request.future.result(), alone.future.result()
            assert_same(result, expected)
            assert (result.context is None) == (arrival.context is None)
            if result.context is not None and expected.context is not None:
                np.testing.assert_allclose(result.context.weights, expected.context.weights, atol=1e-4)


@pytest.mark.parametrize("way", WAYS, ids=[precision for precision, _ in WAYS])
def test_sentences_that_are_read_together_are_as_those_read_alone(load_document: LoadBackend, way: Way) -> None:
    """States bit for bit: what is made anew has other company. Of all lengths, the sentence without words, too."""
    context = load_document("onnx", *way).context
    assert context is not None
    sources = [*some_sources(20, seed=6), (3,), (5, 3), (*range(30, 90), 3)]
    for ids, source in zip(sources, context.encode_sources(sources), strict=True):
        [alone] = context.encode_sources([ids])
        assert source.states is not None
        assert alone.states is not None
        assert source.memory is not None
        assert alone.memory is not None
        assert source.source_ids == ids
        assert source.states.keys() == alone.states.keys()
        for name, state in alone.states.items():
            assert state.shape[:-1] == ((max(1, len(ids) - 1),) if name.startswith("word") else ())
            assert source.states[name].tobytes() == state.tobytes()
        np.testing.assert_allclose(source.memory, alone.memory, atol=1e-5)
        for name, tensor in alone.without_context.tensors.items():
            np.testing.assert_allclose(source.without_context.tensors[name], tensor, atol=1e-5)


@pytest.mark.parametrize(
    ("max_single_page_words", "min_pruned_sentences", "max_energies"),
    [(0, 0, 2**30), (10_000, 1_000, 2**30), (0, 0, 1_000), (0, 1_000, 1_000), (0, 1_000, 1)],
)
@pytest.mark.parametrize("online", [False, True])
def test_all_computations_of_context_attention_are_the_same(
    max_single_page_words: int,
    min_pruned_sentences: int,
    max_energies: int,
    online: bool,
    load_document: LoadBackend,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only words of sentences with a weight, all of them in one page, or slices of the source, beside everything at
    once in several pages: short sentences, long ones, and one without words."""
    backend = load_document("onnx", "fp32")
    sources = [*some_sources(12, seed=5), (3,), (*range(20, 60), 3)]
    seen = contexts(backend, sources, online)
    assert isinstance(backend.context, OnnxContext)
    monkeypatch.setattr(backend.context, "max_single_page_words", 0)
    monkeypatch.setattr(backend.context, "min_pruned_sentences", 1_000)
    monkeypatch.setattr(backend.context, "max_energies", 2**30)
    whole = translate_in_context(backend, sources, seen)
    monkeypatch.setattr(backend.context, "max_single_page_words", max_single_page_words)
    monkeypatch.setattr(backend.context, "min_pruned_sentences", min_pruned_sentences)
    monkeypatch.setattr(backend.context, "max_energies", max_energies)
    looked = [result.context is not None for result in whole]
    assert looked == [not online, *[True] * (len(sources) - 1)]  # online the first has nothing to look at
    for first, other in zip(translate_in_context(backend, sources, seen), whole, strict=True):
        assert_same(first, other)
        assert (first.context is None) == (other.context is None)
        if first.context is None or other.context is None:
            continue
        np.testing.assert_allclose(first.context.weights, other.context.weights, atol=1e-5)
        assert first.context.gate == pytest.approx(other.context.gate, abs=1e-5)


def test_later_sentences_change_nothing_online(load_document: LoadBackend) -> None:
    """Bit for bit, though the document is padded wider for a long sentence that comes later."""
    backend = load_document("onnx", "fp32")
    sources = [(5, 6, 7, 3), (8, 9, 3), (10, 11, 12, 13, 3), (*range(20, 60), 3)]
    whole, begun = (contexts(backend, some, online=True) for some in (sources, sources[:3]))
    for first, other in zip(
        translate_in_context(backend, sources[:3], whole[:3]),
        translate_in_context(backend, sources[:3], begun),
        strict=True,
    ):
        assert first.hypotheses == other.hypotheses
        assert (first.context is None) == (other.context is None)
        if first.context is not None and other.context is not None:
            np.testing.assert_array_equal(first.context.weights, other.context.weights)


def test_results_have_the_attention_weights_of_a_sentence(
    load_document: LoadBackend, document_model: DocumentModel
) -> None:
    backend = load_document("onnx", "fp32")
    sources = some_sources(5, seed=8)
    visible = np.array([True, False, True, True, False])
    (result,) = translate_in_context(backend, [(5, 6, 7, 3)], [SentenceContext(stored(backend, sources), visible)])
    assert result.context is not None
    store = half_precision(stack_store([store_sentence(document_model, ids[:-1]) for ids in sources]))
    with torch.no_grad():
        memory = document_model.base.encode(torch.tensor([[5, 6, 7, 3]]), torch.ones(1, 4, dtype=torch.bool))
        looked = document_model.attend(memory, memory, store, torch.from_numpy(visible)[None])
    expected = looked.sentence_weights[0].mean(dim=1)[:, :4].numpy()  # up to the last that is visible
    np.testing.assert_allclose(result.context.weights, expected, atol=1e-4)
    np.testing.assert_allclose(result.context.weights.sum(axis=1), 1, atol=1e-4)
    assert result.context.weights[:, 1].max() == 0
    assert result.context.gate == pytest.approx(float(looked.gate.mean()), abs=1e-4)


def test_a_model_without_context_is_an_error_for_the_caller(load: LoadBackend, load_document: LoadBackend) -> None:
    engine = new_engine(load("onnx", "fp32"))
    context = full_context([load_document("onnx", "fp32").context.compute_states((5, 6, 3))], [2])  # type: ignore[union-attr]
    requests = [SentenceRequest((5, 6, 3), OPTIONS, context), SentenceRequest((5, 6, 3), OPTIONS)]
    engine.queue.put(requests)
    run(engine)
    with pytest.raises(ValueError, match="'tiny' knows no context"):
        requests[0].future.result(timeout=0)
    assert requests[1].future.result(timeout=0).hypotheses
    assert engine.queue.is_drained


@pytest.mark.parametrize("max_energies", [2**30, 1])
@pytest.mark.parametrize("attention", CONTEXT_ATTENTIONS)
def test_an_explanation_has_the_words_that_a_sentence_attends_to(
    attention: str, max_energies: int, context_artifact: ContextArtifact
) -> None:
    model = lively_document_model(attention)
    artifact = Artifact.load(context_artifact(attention, "encoder"))
    backend = load_backend(artifact, "onnx", "fp32", "off")
    assert isinstance(backend.context, OnnxContext)
    backend.context.max_energies = max_energies
    sources = [(*range(30, 50), 3), (3,), (5, 6, 7, 3), (*range(100, 140), 3), (9, 3)]
    visible = np.array([True, False, True, True, False])
    context, source = SentenceContext(stored(backend, sources), visible), (5, 6, 7, 3)
    (result,) = translate_in_context(backend, [source], [context])
    actual = backend.context.explain(source, context)
    assert result.context is not None
    assert result.context.words is None
    np.testing.assert_allclose(actual.weights, result.context.weights, atol=1e-5)
    assert actual.gate == pytest.approx(result.context.gate, abs=1e-5)
    if attention == "flat-sentence":
        assert actual.words is None
        return
    assert actual.words is not None
    assert [words.shape for words in actual.words] == [(2, 20), (2, 0), (2, 3), (2, 40)]
    for words, weight in zip(actual.words, actual.weights.T, strict=True):
        np.testing.assert_allclose(words.sum(axis=1), weight, atol=1e-5)
    store = half_precision(stack_store([store_sentence(model, ids[:-1]) for ids in sources]))
    with torch.no_grad():
        memory = model.base.encode(torch.tensor([source]), torch.ones(1, 4, dtype=torch.bool))
        expected = model.attend(memory, memory, store, torch.from_numpy(visible)[None]).word_weights
    assert expected is not None
    np.testing.assert_allclose(actual.words[3], expected[0].mean(dim=1)[:, 3, :40].numpy(), atol=1e-4)


@pytest.mark.parametrize(
    ("visible", "problem"),
    [([False, False], "no stored sentence is visible"), ([False, True], "no stored"), ([True], "2 sentences are")],
)
def test_a_context_shows_at_least_one_word(visible: list[bool], problem: str) -> None:
    document = StoredDocument.of([some_states(2), some_states(0)], [2, 0])
    with pytest.raises(ValueError, match=problem):
        SentenceContext(document, np.array(visible))
    assert full_context([some_states(0)], [0]) is None

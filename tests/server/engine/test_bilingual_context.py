"""Documents whose context is made of translations: two passes, each in running batches."""

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
from model.data.batching import Pair, collate
from model.document import DocumentModel
from model.document_search import search_document, stack_store, store_sentence
from server.artifact.artifact import Artifact
from server.backends.base import Backend
from server.backends.context import SentenceContext, StoredDocument
from server.backends.load import load_backend
from server.engine.request import SearchOptions, SentenceRequest, SentenceResult
from tests.documents import ContextArtifact, lively_document_model
from tests.server.engine.conftest import LoadBackend
from tests.server.engine.runs import Arrival, new_engine, play, random_source, run, translate
from tests.server.engine.test_engine import assert_same, some_sources

OPTIONS = SearchOptions(beam_size=3, num_hypotheses=2, max_length=14)
DRAFT = SearchOptions(beam_size=1, max_length=14)
Ids = tuple[int, ...]


def drafts_of(backend: Backend, sources: Sequence[Ids]) -> list[Ids]:
    return [result.hypotheses[0].ids for result in translate(backend, sources, DRAFT)]


def contexts(
    backend: Backend, sources: Sequence[Ids], drafts: Sequence[Ids], online: bool
) -> list[SentenceContext | None]:
    """What every sentence sees of the drafts."""
    assert backend.context is not None
    states = [backend.context.compute_states(*pair) for pair in zip(sources, drafts, strict=True)]
    document, index = StoredDocument.of(states, [len(ids) for ids in drafts]), np.arange(len(sources))
    has_words = np.array([len(ids) > 0 for ids in drafts])
    seen = [(index < own if online else index != own) & has_words for own in index]
    return [SentenceContext(document, visible) if visible.any() else None for visible in seen]


def search(
    backend: Backend, sources: Sequence[Ids], seen: Sequence[SentenceContext | None], slots: int = 4
) -> list[SentenceResult]:
    engine = new_engine(backend, slots)
    requests = [SentenceRequest(source, OPTIONS, context) for source, context in zip(sources, seen, strict=True)]
    engine.queue.put(requests)
    run(engine)
    return [request.future.result(timeout=0) for request in requests]


@pytest.mark.parametrize("attention", CONTEXT_ATTENTIONS)
def test_two_passes_are_the_reference_protocol(
    attention: str, context_artifact: ContextArtifact, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Offline, then online from drafts; the reference keeps states at half precision, as the server does."""
    monkeypatch.setattr(document_search, "stack_store", lambda sentences: half_precision(stack_store(sentences)))
    model = lively_document_model(attention, "decoder")
    artifact = Artifact.load(context_artifact(attention, "decoder"))
    backend = load_backend(artifact, "onnx", "fp32", "off")
    sources = [*(ids[-9:] for ids in some_sources(3, seed=2)), (3,)]
    drafts = drafts_of(backend, sources)
    for online in (False, True):
        actual = search(backend, sources, contexts(backend, sources, drafts, online))
        expected = search_document(
            model, [ids[:-1] for ids in sources], online, beam_size=3, num_hypotheses=2, max_length=14
        )
        for result, hypotheses in zip(actual, expected, strict=True):
            assert [h.ids for h in result.hypotheses] == [h.ids for h in hypotheses]
            for ours, theirs in zip(result.hypotheses, hypotheses, strict=True):
                assert ours.score == pytest.approx(theirs.score, abs=1e-3)


def test_context_changes_translations(load_bilingual: LoadBackend) -> None:
    backend, sources = load_bilingual("onnx", "fp32"), some_sources(10, seed=5)
    alone = search(backend, sources, [None] * 10)
    within = search(backend, sources, contexts(backend, sources, drafts_of(backend, sources), online=False))
    assert sum(a.hypotheses[0].ids != b.hypotheses[0].ids for a, b in zip(alone, within, strict=True)) >= 3
    assert all(result.context is None for result in within)


@settings(deadline=None, max_examples=4)
@given(seed=st.integers(0, 10_000), slots=st.sampled_from([1, 3, 16]), precision=st.sampled_from(["fp32", "int8"]))
def test_a_sentence_in_context_is_the_same_alone_and_in_any_batch(
    load_bilingual: LoadBackend, seed: int, slots: int, precision: str
) -> None:
    """Documents of different lengths and none in one engine, some cancelled, in any order of arrival. The same words;
    of scores the last bits may differ, since looks of other sizes may add floats up in another order."""
    generator, backend = random.Random(seed), load_bilingual("onnx", precision, "on")
    arrivals = []
    for length, online in ((7, False), (3, True), (5, None)):
        sources = [random_source(generator) for _ in range(length)]
        drafts = [source[: generator.randrange(len(source))] for source in sources]
        seen = [None] * length if online is None else contexts(backend, sources, drafts, online)
        for source, context in zip(sources, seen, strict=True):
            cancel_after = generator.choice([None, None, None, generator.randrange(20)])
            options = SearchOptions(beam_size=generator.choice([1, 3, 4, 4]), max_length=generator.choice([5, 20]))
            arrivals.append(Arrival(generator.randrange(30), source, options, cancel_after, context))
    generator.shuffle(arrivals)
    for arrival, request in zip(arrivals, play(backend, arrivals, slots), strict=True):
        if request.future.exception(timeout=0) is None:
            (alone,) = play(backend, [Arrival(0, arrival.source, arrival.options, None, arrival.context)], slots=1)
            assert_same(request.future.result(), alone.future.result())


def test_an_explanation_has_the_attention_weights_of_a_translation(
    load_bilingual: LoadBackend, bilingual_model: DocumentModel
) -> None:
    backend = load_bilingual("onnx", "fp32")
    assert backend.context is not None
    sources, drafts = [(5, 6, 7, 3), (8, 9, 3), (10, 11, 3)], [(20, 21, 22), (), (23, *range(30, 60))]
    (_, _, context) = contexts(backend, sources, drafts, online=True)
    assert context is not None
    source, target = (40, 41, 3), (50, 51, 52)
    result = backend.context.explain(source, context, target)
    store = half_precision(
        stack_store([store_sentence(bilingual_model, s[:-1], t) for s, t in zip(sources, drafts, strict=True)])
    )
    batch = collate([Pair(list(source[:-1]), list(target))])
    with torch.no_grad():
        memory = bilingual_model.base.encode(batch.source, batch.source_keep)
        decoded = bilingual_model.base.decoder_output(batch.target_in, memory, batch.source_keep)
        looked = bilingual_model.attend(decoded.query, decoded.state, store, torch.tensor([[True, False, False]]))
    np.testing.assert_allclose(result.weights, looked.sentence_weights[0].mean(dim=1)[:, :1].numpy(), atol=1e-4)
    assert result.gate == pytest.approx(float(looked.gate.mean()), abs=1e-4)
    assert result.words is not None
    assert looked.word_weights is not None
    np.testing.assert_allclose(result.words[0], looked.word_weights[0].mean(dim=1)[:, 0, :3].numpy(), atol=1e-4)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_the_documents_of_others_change_no_bit(load_bilingual: LoadBackend, precision: str) -> None:
    """A short document beside long ones, whose pages are larger."""
    backend, generator = load_bilingual("onnx", precision, "off"), random.Random(3)

    def document(length: int) -> list[SentenceContext | None]:
        sources = [
            (*(generator.randrange(4, 320) for _ in range(generator.randrange(1, 30))), 3) for _ in range(length)
        ]
        return contexts(backend, sources, [ids[:-1] for ids in sources], online=False)[:4]

    sources = [(*(generator.randrange(4, 320) for _ in range(7)), 3) for _ in range(12)]
    seen = [context for length in (5, 19, 40) for context in document(length)]
    together = search(backend, sources, seen, slots=12)
    for source, context, result in zip(sources, seen, together, strict=True):
        (alone,) = search(backend, [source], [context], slots=1)
        assert result.hypotheses == alone.hypotheses

"""int8 graphs of every mechanism as whole searches: what they find is what the reference search finds at int8."""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from export.calibration import context_ranges, input_ranges
from export.context_parity import half_precision
from export.parity import sample_sources
from model import document_search
from model.config import CONTEXT_ATTENTIONS, EOS_ID
from model.data.batching import Pair
from model.document_search import search_document, stack_store
from model.reference_search import ReferenceHypothesis, reference_search
from model.translation_model import TranslationModel
from server.backends.base import Backend
from server.backends.context import SentenceContext, StoredDocument
from server.backends.load import load_backend
from server.engine.request import SearchOptions, SentenceRequest, SentenceResult
from server.engine.synchronous import Source, translate_now
from tests.documents import lively_document_model
from tests.graphs import ranges_of_random_words, write_graphs
from tests.models import lively_model, tiny_config
from tests.reference.int8 import at_int8
from tests.scores import teacher_forced
from tests.server.engine.runs import new_engine, run
from tests.variants import RECURRENT, VARIANTS, few_layers, lively_variant

BEAM, LONGEST = 3, 12
OPTIONS = SearchOptions(beam_size=BEAM, max_length=LONGEST)
CLOSE = 0.05
"""Nats, summed over a translation: where sums of floats differ in their last bits, a number may take the next level."""

Score = Callable[[Sequence[int]], list[float]]


def check(result: SentenceResult, expected: ReferenceHypothesis, score: Score) -> bool:
    """A translation as good as the reference's, with the score that the twin gives it; whether it is the same."""
    actual = result.hypotheses[0]
    assert actual.score == pytest.approx(sum(score((*actual.ids, EOS_ID))[: actual.num_tokens]), abs=CLOSE)
    assert actual.normalized_score == pytest.approx(expected.normalized_score, abs=CLOSE)
    return actual.ids == expected.ids


def plain() -> TranslationModel:
    return lively_model(tiny_config(max_length=40))


@pytest.mark.parametrize("name", ["plain", *VARIANTS, *RECURRENT])
def test_a_search_equals_the_reference_search(name: str, tmp_path: Path) -> None:
    model = plain() if name == "plain" else lively_variant(name, loudness=1, **few_layers(name))
    twin, sources = at_int8(model, ranges_of_random_words(model)), sample_sources(320, 40)[1:4]
    backend = load_backend(write_graphs(model, tmp_path, ("onnx", "int8")), "onnx", "int8")
    results = translate_now(backend, [Source(tuple(ids)) for ids in sources], OPTIONS)
    same = 0
    for source, result in zip(sources, results, strict=True):
        (expected,) = reference_search(twin, source, beam_size=BEAM, max_length=LONGEST)
        same += check(result, expected, functools.partial(teacher_forced, twin, source))
    assert same >= len(sources) - 1


@pytest.mark.parametrize("side", ["encoder", "decoder"])
@pytest.mark.parametrize("attention", CONTEXT_ATTENTIONS)
def test_documents_are_translated_as_the_reference_protocol_does(
    attention: str, side: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Offline; the reference keeps states at half precision, as the server does."""
    monkeypatch.setattr(document_search, "stack_store", lambda sentences: half_precision(stack_store(sentences)))
    model = lively_document_model(attention, side)
    sources = [tuple(ids) for ids in sample_sources(320, 40)[:4]]
    sample = [*sources, *sample_sources(320, 40, seed=1)]
    ranges = context_ranges(model, sample, input_ranges(model.base, sample))
    backend = load_backend(write_graphs(model, tmp_path, ("onnx", "int8"), ranges=ranges), "onnx", "int8")
    twin = at_int8(model, ranges)
    drafts: list[tuple[int, ...]] = [()] * len(sources)
    if side == "decoder":
        drafts = [result.hypotheses[0].ids for result in translated(backend, sources, None, beam_size=1)]
    context = backend.context
    assert context is not None
    num_words = [len(ids) for ids in drafts] if side == "decoder" else [len(ids) - 1 for ids in sources]
    states = [context.compute_states(*pair) for pair in zip(sources, drafts, strict=True)]
    stored = StoredDocument.of(states, num_words)
    results = translated(backend, sources, stored, beam_size=BEAM)
    expected = search_document(twin, [ids[:-1] for ids in sources], beam_size=BEAM, max_length=LONGEST)
    same = 0
    for index, (result, (best, *_)) in enumerate(zip(results, expected, strict=True)):
        others = [Pair(list(sources[j][:-1]), list(drafts[j])) for j in range(len(sources)) if j != index]
        same += check(result, best, functools.partial(teacher_forced, twin, sources[index], context=others))
    assert same >= len(sources) - 1


def translated(
    backend: Backend, sources: Sequence[tuple[int, ...]], stored: StoredDocument | None, beam_size: int
) -> list[SentenceResult]:
    """Every sentence sees all others of `stored`."""
    options, index = SearchOptions(beam_size=beam_size, max_length=LONGEST), np.arange(len(sources))
    seen = [None if stored is None else SentenceContext(stored, index != own) for own in index]
    requests = [SentenceRequest(ids, options, context) for ids, context in zip(sources, seen, strict=True)]
    engine = new_engine(backend)
    engine.queue.put(requests)
    run(engine)
    return [request.future.result(timeout=0) for request in requests]

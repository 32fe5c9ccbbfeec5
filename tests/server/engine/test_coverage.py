"""Coverage that the engine gives with a translation, against one more pass over source and translation."""

import logging
from collections.abc import Sequence

import numpy as np
import pytest

from server.backends.alignment import Aligner, IdPair, align_batch, coverage_of
from server.backends.arrays import Floats, Ints
from server.backends.base import Backend
from server.backends.memory import Encoded
from server.engine import coverage
from server.engine.coverage import with_coverage
from server.engine.request import SearchOptions, SentenceRequest, SentenceResult
from server.engine.running_sentence import EncodedSentence
from tests.server.engine.conftest import LoadBackend
from tests.server.engine.runs import new_engine, run
from tests.server.engine.test_context import contexts
from tests.server.engine.test_engine import some_sources

OPTIONS = SearchOptions(beam_size=3, num_hypotheses=2, max_length=20)


def always(pair: IdPair) -> bool:
    return True


def prepared(backend: Backend) -> Aligner:
    assert backend.aligner is not None
    backend.aligner.prepare()
    return backend.aligner


def results(backend: Backend, requests: Sequence[SentenceRequest]) -> list[SentenceResult]:
    engine = new_engine(backend)
    engine.queue.put(list(requests))
    run(engine)
    return [request.future.result(timeout=0) for request in requests]


def by_another_pass(backend: Backend, pair: IdPair) -> tuple[float, ...]:
    manifest = backend.manifest
    [weights] = align_batch(prepared(backend), manifest.special_ids.bos, manifest.max_target_length, [pair])
    return coverage_of(weights)


@pytest.mark.parametrize(
    ("kind", "precision"), [("onnx", "fp32"), ("onnx", "int8"), ("torchscript", "fp32"), ("torchscript", "bf16")]
)
def test_is_that_of_another_pass(load: LoadBackend, kind: str, precision: str) -> None:
    """In company, whatever the others are; only the best translation has it."""
    backend, asked = load(kind, precision), list[IdPair]()
    prepared(backend)

    def wants(pair: IdPair) -> bool:
        asked.append(pair)
        return len(pair[0]) % 2 == 0

    requests = [SentenceRequest(source, OPTIONS, wants_coverage=wants) for source in some_sources(24)]
    pairs = list[IdPair]()
    for request, result in zip(requests, results(backend, requests), strict=True):
        best, *others = result.hypotheses
        assert [other.coverage for other in others] == [None] * len(others)
        pair = (request.source_ids, best.ids)
        pairs.append(pair)
        if not wants(pair):
            assert best.coverage is None
            continue
        assert best.coverage is not None
        assert len(best.coverage) == len(request.source_ids)
        assert best.coverage == pytest.approx(by_another_pass(backend, pair), abs=0.02 if precision == "bf16" else 1e-5)
    assert sorted(asked[: len(pairs)]) == sorted(pairs), "each is asked for once"
    assert 4 < sum(map(wants, pairs)) < 20


def test_without_a_request_for_it_nothing_is_aligned(load: LoadBackend) -> None:
    prepared(load("onnx", "fp32"))
    requests = [SentenceRequest(source, OPTIONS) for source in some_sources(4)]
    assert {each.coverage for result in results(load("onnx", "fp32"), requests) for each in result.hypotheses} == {None}


def test_in_context_it_is_not_known(load_document: LoadBackend) -> None:
    """A sentence is aligned without its context."""
    backend, sources = load_document("onnx", "fp32"), some_sources(6, seed=3)
    prepared(backend)
    seen = contexts(backend, sources, online=True)
    requests = [
        SentenceRequest(source, OPTIONS, context, wants_coverage=always)
        for source, context in zip(sources, seen, strict=True)
    ]
    known = [result.hypotheses[0].coverage is not None for result in results(backend, requests)]
    assert known == [context is None for context in seen]
    assert 0 < sum(known) < len(known)


def test_long_sentences_are_left_to_side_tasks(load: LoadBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other sentences wait while the engine aligns one."""
    backend, lengths = load("onnx", "fp32"), list[tuple[int, bool]]()
    prepared(backend)
    monkeypatch.setattr(coverage, "MOST_PIECES", 24)
    requests = [SentenceRequest(source, OPTIONS, wants_coverage=always) for source in some_sources(24)]
    for request, result in zip(requests, results(backend, requests), strict=True):
        best = result.hypotheses[0]
        lengths.append((len(request.source_ids) + len(best.ids), best.coverage is not None))
    assert all((length <= 24) == is_known for length, is_known in lengths)
    assert 0 < sum(is_known for _, is_known in lengths) < len(lengths)


class Unprepared:
    """An aligner whose graph is not loaded, or fails."""

    def __init__(self, is_prepared: bool) -> None:
        self.is_prepared = is_prepared

    def prepare(self) -> None:
        raise AssertionError("the engine's thread would wait")

    def align(self, source_ids: Ints, source_keep: Ints, target_ids: Ints) -> Floats:
        raise AssertionError("the source is encoded already")

    def align_encoded(self, encoded: Encoded, target_ids: Ints) -> Floats:
        assert self.is_prepared
        raise RuntimeError("the graph broke")


@pytest.mark.parametrize("is_prepared", [False, True])
def test_a_translation_is_complete_without_it(
    load: LoadBackend, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, is_prepared: bool
) -> None:
    backend = load("onnx", "fp32")
    monkeypatch.setattr(backend, "aligner", Unprepared(is_prepared))
    [source, *_] = some_sources(1)
    [encoded] = backend.encode(np.array([source]), np.ones((1, len(source)), np.int32))
    request = SentenceRequest(source, OPTIONS, wants_coverage=always)
    with caplog.at_level(logging.ERROR, "ringmt"):
        [result] = results(backend, [request])
        assert with_coverage(backend, EncodedSentence(request, encoded, 0, 0), result.hypotheses) == result.hypotheses
    assert result.hypotheses[0].coverage is None
    assert bool(caplog.records) == is_prepared, "what fails is logged"


def test_a_question_that_fails_fails_its_sentence_alone(load: LoadBackend) -> None:
    backend = load("onnx", "fp32")
    prepared(backend)
    bad, good = some_sources(2)

    def wants(pair: IdPair) -> bool:
        if pair[0] == bad:
            raise RuntimeError("no answer")
        return True

    engine = new_engine(backend)
    requests = [SentenceRequest(source, OPTIONS, wants_coverage=wants) for source in (bad, good)]
    engine.queue.put(requests)
    run(engine)
    with pytest.raises(RuntimeError, match="no answer"):
        requests[0].future.result(timeout=0)
    assert requests[1].future.result(timeout=0).hypotheses[0].coverage is not None
    assert engine.queue.in_flight == engine.num_running == 0

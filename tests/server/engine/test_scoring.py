"""Given translations, scored in the same running batches as searches."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.data.batching import Pair
from model.document import DocumentModel
from model.translation_model import TranslationModel
from server.backends.base import Backend, ScoreStep
from server.backends.context import SentenceContext, full_context
from server.backends.load import UseShortlist
from server.backends.state import DecoderState, Floats
from server.engine.request import Cancelled, SearchOptions, SentenceRequest, SentenceResult
from tests.scores import teacher_forced
from tests.server.engine.conftest import LoadBackend
from tests.server.engine.integrity import check_integrity
from tests.server.engine.runs import new_engine, random_source, run, translate
from tests.server.engine.test_engine import assert_same, some_sources

Ids = tuple[int, ...]


def score_request(source: Ids, targets: list[Ids], context: SentenceContext | None = None) -> SentenceRequest:
    return SentenceRequest(source, SearchOptions(len(targets), max_length=64), context, targets=tuple(targets))


def scored(backend: Backend, requests: list[SentenceRequest], slots: int = 4) -> list[SentenceResult]:
    backend.prepare_scores()
    engine = new_engine(backend, slots)
    engine.queue.put(requests)
    run(engine)
    return [request.future.result(timeout=0) for request in requests]


def log_probabilities(result: SentenceResult) -> list[float]:
    return [value for hypothesis in result.hypotheses for value in hypothesis.log_probabilities]


def long_target(length: int, seed: int) -> Ids:
    generator = random.Random(seed)
    return (*(generator.randrange(4, 320) for _ in range(length - 1)), 3)


class NoNumbers:
    """A real backend whose score graph gives `value` as the log-probability of `token`."""

    def __init__(self, backend: Backend, token: int, value: float) -> None:
        self._backend, self._token, self._value = backend, token, value
        self.manifest, self.shortlist, self.context = backend.manifest, backend.shortlist, backend.context
        self.aligner, self.device = backend.aligner, backend.device
        self.new_state, self.bind = backend.new_state, backend.bind
        self.encode, self.prepare_scores = backend.encode, backend.prepare_scores

    def bind_scores(self, state: DecoderState) -> ScoreStep:
        step = self._backend.bind_scores(state)

        def broken() -> Floats:
            scores = step().copy()
            scores[:, :, self._token] = self._value
            return scores

        return broken


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_no_number_is_an_error_and_fails_no_other_sentence(load: LoadBackend, value: float) -> None:
    backend = load("onnx", "fp32")
    backend.prepare_scores()
    broken, sound = score_request((5, 6, 3), [(5, 6, 3), (9, 3)]), score_request((5, 6, 3), [(5, 6, 3)])
    engine = new_engine(NoNumbers(backend, 9, value), 4)
    engine.queue.put([broken, sound])
    run(engine)
    with pytest.raises(RuntimeError, match="no finite number"):
        broken.future.result(timeout=0)
    assert_same(sound.future.result(timeout=0), scored(backend, [score_request((5, 6, 3), [(5, 6, 3)])])[0])


KINDS = [("onnx", "off"), ("onnx", "on"), ("torchscript", "off"), ("torchscript", "on")]


@pytest.mark.parametrize(("kind", "shortlist"), KINDS)
def test_scores_are_the_teacher_forced_ones(
    load: LoadBackend, tiny_model: TranslationModel, kind: str, shortlist: UseShortlist
) -> None:
    """Rings wrap many times; one target is nothing but its end; a shortlist changes nothing."""
    source = (*range(40, 50), 3)
    targets = [long_target(64, 1), (3,), long_target(17, 2), (5, 6, 7, 3), long_target(64, 3)]
    [result] = scored(load(kind, "fp32", shortlist), [score_request(source, targets)])
    assert [hypothesis.ids for hypothesis in result.hypotheses] == [target[:-1] for target in targets]
    for target, hypothesis in zip(targets, result.hypotheses, strict=True):
        expected = teacher_forced(tiny_model, source, target)
        assert hypothesis.log_probabilities == pytest.approx(expected, abs=1e-4)
        assert hypothesis.score == pytest.approx(sum(expected), abs=2e-3)


def test_hypotheses_of_a_search_score_as_in_the_search(load: LoadBackend) -> None:
    backend, sources = load("onnx", "fp32"), some_sources(8, seed=4)
    results = translate(backend, sources, SearchOptions(beam_size=3, num_hypotheses=3, max_length=40))
    assert sum(h.finish_reason == "eos" for result in results for h in result.hypotheses) > 10
    for source, result in zip(sources, results, strict=True):
        finished = [h for h in result.hypotheses if h.finish_reason == "eos"]
        if finished:
            [again] = scored(backend, [score_request(source, [(*h.ids, 3) for h in finished])])
            assert [h.score for h in again.hypotheses] == pytest.approx([h.score for h in finished], abs=1e-3)


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_scores_in_context_are_the_teacher_forced_ones(
    side: str,
    load_document: LoadBackend,
    load_bilingual: LoadBackend,
    document_model: DocumentModel,
    bilingual_model: DocumentModel,
) -> None:
    backend = (load_document if side == "encoder" else load_bilingual)("onnx", "fp32", "auto")
    model = document_model if side == "encoder" else bilingual_model
    assert backend.context is not None
    sources, drafts = [(5, 6, 7, 8), (9, 10)], [(20, 21, 22), (23, *range(30, 60))]
    states = [backend.context.compute_states((*s, 3), t) for s, t in zip(sources, drafts, strict=True)]
    context = full_context(states, [len(ids) for ids in (sources if side == "encoder" else drafts)])
    pairs = [Pair(list(s), list(t)) for s, t in zip(sources, drafts, strict=True)]
    source, targets = (*range(60, 66), 3), [long_target(40, 7), (9, 8, 3)]
    within, alone = scored(backend, [score_request(source, targets, context), score_request(source, targets)])
    for target, ours, plain in zip(targets, within.hypotheses, alone.hypotheses, strict=True):
        assert ours.log_probabilities == pytest.approx(teacher_forced(model, source, target, pairs), abs=1e-3)
        assert plain.log_probabilities == pytest.approx(teacher_forced(model, source, target), abs=1e-4)
    assert max(abs(a - b) for a, b in zip(log_probabilities(within), log_probabilities(alone), strict=True)) > 0.1


@settings(deadline=None, max_examples=5)
@given(seed=st.integers(0, 10_000), slots=st.sampled_from([1, 3, 16]), precision=st.sampled_from(["fp32", "int8"]))
def test_scores_and_searches_do_not_disturb_each_other(
    load: LoadBackend, seed: int, slots: int, precision: str
) -> None:
    generator, backend = random.Random(seed), load("onnx", precision, "on")
    backend.prepare_scores()

    def draw() -> SentenceRequest:
        source = random_source(generator)
        if generator.random() < 0.5:
            targets = [long_target(generator.randrange(1, 40), generator.randrange(99)) for _ in range(3)]
            return score_request(source, targets[: generator.randrange(1, 4)])
        return SentenceRequest(source, SearchOptions(beam_size=generator.choice([1, 3]), max_length=20))

    requests = [draw() for _ in range(14)]
    due = [(generator.randrange(20), generator.random() < 0.2) for _ in requests]
    engine, step = new_engine(backend, slots), 0
    while step <= 40 or not engine.is_idle:
        for request, (arrival, is_cancelled) in zip(requests, due, strict=True):
            if arrival == step:
                engine.queue.put([request])
            if is_cancelled and arrival + 7 == step:
                request.cancel()
        engine.step()
        check_integrity(engine)
        step += 1
    for request in requests:
        if request.is_cancelled and isinstance(request.future.exception(timeout=0), Cancelled):
            continue
        again = SentenceRequest(request.source_ids, request.options, targets=request.targets)
        [alone] = scored(backend, [again], slots=1)
        assert_same(request.future.result(timeout=0), alone)
        assert log_probabilities(request.future.result()) == pytest.approx(log_probabilities(alone), abs=1e-4)

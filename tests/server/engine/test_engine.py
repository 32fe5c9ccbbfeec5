"""The engine against the plain reference search, alone and in any batch."""

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.reference_search import reference_search
from model.translation_model import TranslationModel
from server.backends.load import UseShortlist
from server.engine.batches import ENCODE_AHEAD, ENCODE_TOKENS, MAX_PADDING, encoder_batches, group_by_length
from server.engine.engine import Engine
from server.engine.request import (
    Cancelled,
    DeadlineExceeded,
    Overloaded,
    SearchOptions,
    SentenceRequest,
    SentenceResult,
)
from server.scheduling.fair_queue import QUANTUM
from tests.server.engine.conftest import LoadBackend
from tests.server.engine.integrity import check_integrity
from tests.server.engine.runs import Arrival, new_engine, play, random_source, run, ticking_clock, translate

CASES = [
    SearchOptions(beam_size=1, max_length=30),
    SearchOptions(beam_size=2, num_hypotheses=2, max_length=30),
    SearchOptions(beam_size=3, num_hypotheses=3, length_penalty=0.6, max_length=30),
    SearchOptions(beam_size=4, num_hypotheses=4, length_penalty=1.3, max_length=40),
    SearchOptions(beam_size=5, num_hypotheses=1, length_penalty=0.0, max_length=20),
    SearchOptions(beam_size=8, num_hypotheses=8, max_length=12),
    SearchOptions(beam_size=4, num_hypotheses=2, max_length=1),
]


Way = tuple[str, str, UseShortlist]
WAYS: list[Way] = [("onnx", "fp32", "off"), ("onnx", "int8", "off"), ("onnx", "int8", "on")]


def some_sources(count: int, seed: int = 0) -> list[tuple[int, ...]]:
    generator = random.Random(seed)
    return [random_source(generator) for _ in range(count)]


def assert_same(result: SentenceResult, expected: SentenceResult) -> None:
    assert [h.ids for h in result.hypotheses] == [h.ids for h in expected.hypotheses]
    assert [h.finish_reason for h in result.hypotheses] == [h.finish_reason for h in expected.hypotheses]
    for ours, theirs in zip(result.hypotheses, expected.hypotheses, strict=True):
        assert ours.score == pytest.approx(theirs.score, abs=1e-4)


@pytest.mark.parametrize("kind", ["onnx", "torchscript"])
@pytest.mark.parametrize("options", CASES, ids=lambda o: f"beam{o.beam_size}-n{o.num_hypotheses}-max{o.max_length}")
def test_equals_the_reference_search_token_for_token(
    load: LoadBackend, tiny_model: TranslationModel, kind: str, options: SearchOptions
) -> None:
    sources = some_sources(4, seed=options.beam_size)
    for source, result in zip(sources, translate(load(kind, "fp32"), sources, options), strict=True):
        expected = reference_search(
            tiny_model,
            list(source),
            options.beam_size,
            options.num_hypotheses,
            options.length_penalty,
            options.max_length,
        )
        assert [h.ids for h in result.hypotheses] == [h.ids for h in expected]
        assert [h.finish_reason for h in result.hypotheses] == [h.finish_reason for h in expected]
        for ours, theirs in zip(result.hypotheses, expected, strict=True):
            assert ours.score == pytest.approx(theirs.score, abs=1e-3)
            assert ours.normalized_score == pytest.approx(theirs.normalized_score, abs=1e-3)


def test_the_test_model_is_worth_testing_with(load: LoadBackend) -> None:
    """Its translations end and vary, or the comparisons above would say little."""
    results = translate(load("onnx", "fp32"), some_sources(40), SearchOptions(max_length=60))
    best = [result.hypotheses[0] for result in results]
    assert sum(h.finish_reason == "eos" for h in best) > 20
    assert len({len(h.ids) for h in best}) > 8
    assert sum(len(set(h.ids)) > 3 for h in best) > 20


@settings(deadline=None, max_examples=6)
@given(seed=st.integers(0, 10_000), slots=st.sampled_from([1, 2, 3, 5, 16]), way=st.sampled_from(WAYS))
def test_a_sentence_is_the_same_alone_and_in_any_batch(load: LoadBackend, seed: int, slots: int, way: Way) -> None:
    """Random arrivals, widths and cancellations; tokens are identical, scores equal within rounding."""
    generator, backend = random.Random(seed), load(*way)
    arrivals = [
        Arrival(
            step=generator.randrange(60),
            source=random_source(generator),
            options=SearchOptions(beam_size=generator.choice([1, 3, 4, 4, 4]), max_length=generator.choice([5, 40])),
            cancel_after=generator.choice([None, None, None, generator.randrange(20)]),
        )
        for _ in range(40)
    ]
    for arrival, request in zip(arrivals, play(backend, arrivals, slots), strict=True):
        alone = translate(backend, [arrival.source], arrival.options, slots=1)[0]
        error = request.future.exception(timeout=0)
        if error is None:
            assert_same(request.future.result(), alone)
        else:
            assert isinstance(error, Cancelled)
            assert arrival.cancel_after is not None


@pytest.mark.parametrize("way", WAYS[1:], ids="-".join)
def test_hundreds_of_int8_sentences_do_not_affect_each_other(load: LoadBackend, way: Way) -> None:
    backend, sources = load(*way), some_sources(200, seed=7)
    crowd = translate(backend, sources, SearchOptions(max_length=40), slots=32)
    for source, result in zip(sources[::10], crowd[::10], strict=True):
        assert_same(result, translate(backend, [source], SearchOptions(max_length=40), slots=1)[0])


def test_an_expired_sentence_is_aborted(load: LoadBackend) -> None:
    engine = new_engine(load("onnx", "fp32"), slots=2)
    expired = SentenceRequest((5, 6, 3), SearchOptions(deadline=time.monotonic() - 1))
    on_time = SentenceRequest((5, 6, 3), SearchOptions(max_length=5, deadline=time.monotonic() + 600))
    engine.queue.put([expired, on_time])
    run(engine)
    with pytest.raises(DeadlineExceeded):
        expired.future.result(timeout=0)
    assert on_time.future.result(timeout=0).hypotheses


def test_a_running_sentence_can_be_cancelled_and_its_slot_is_free_in_the_same_step(load: LoadBackend) -> None:
    engine = new_engine(load("onnx", "fp32"), slots=1)
    first, second = (SentenceRequest((5, 6, 3), SearchOptions(max_length=9)) for _ in range(2))
    engine.queue.put([first, second])
    engine.step()
    assert engine.num_running == 1
    first.cancel()
    engine.step()
    assert engine.num_running == 0
    with pytest.raises(Cancelled):
        first.future.result(timeout=0)
    run(engine)
    assert second.future.result(timeout=0).hypotheses


def steps_until(engine: Engine, request: SentenceRequest) -> int:
    """Runs the engine until `request` is resolved."""
    steps = 0
    while not request.future.done():
        engine.step()
        check_integrity(engine)
        steps += 1
    return steps


@pytest.mark.parametrize("warm_up", [0, 1, 7, 40])
def test_a_long_document_does_not_keep_a_short_request_waiting(load: LoadBackend, warm_up: int) -> None:
    """A slot is free after `longest` steps at the latest, and only sentences that were encoded ahead and one turn of
    the document go before."""
    slots, length, longest = 4, 6, 8
    engine = new_engine(load("onnx", "fp32"), slots)
    document = [(*ids[: length - 1], 3) for ids in some_sources(500, seed=3)]
    options = SearchOptions(beam_size=2, max_length=longest)
    requests = [SentenceRequest(ids, options, owner="document") for ids in document]
    engine.queue.put(requests)
    for _ in range(warm_up):
        engine.step()
    short = SentenceRequest((5, 6, 7, 3), options, owner="short")
    engine.queue.put([short])
    ahead = ENCODE_AHEAD + QUANTUM  # a turn of sentences of one token
    assert steps_until(engine, short) <= longest * (2 + -(-ahead // slots))
    assert sum(request.future.done() for request in requests) < 120


def test_a_crowd_of_short_requests_does_not_keep_a_document_waiting(
    load: LoadBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although more of them arrive than one slot can serve, and the queue is always full."""
    ticking_clock(monkeypatch, 0.001)
    engine = new_engine(load("onnx", "fp32"), slots=1, max_waiting=30)
    options = SearchOptions(beam_size=1, max_length=8)
    crowd = [SentenceRequest((5, 6, 7, 3), options) for _ in range(24)]
    document = [SentenceRequest((*range(10, 25), 3), options, owner="document") for _ in range(6)]
    engine.queue.put([*crowd, *document])
    rejected = steps = 0
    while not all(request.future.done() for request in document):
        for _ in range(2):
            try:
                engine.queue.put([SentenceRequest((5, 6, 7, 3), options)])
            except Overloaded:
                rejected += 1
        engine.step()
        steps += 1
        assert steps < 3000
    assert rejected > 30


def test_memory_per_sentence_is_the_formula_at_any_length(load: LoadBackend, tiny_model: TranslationModel) -> None:
    """2 (key, value) x layers x heads x (N-1) x beam x head_dim x 4 bytes, whatever the target's length."""
    config = tiny_model.config
    engine = new_engine(load("onnx", "fp32"), slots=1)
    expected = 2 * config.decoder_layers * config.num_heads * config.ring_capacity * 4 * config.head_dim * 4
    for longest in (3, 60):
        engine.queue.put([SentenceRequest((5, 6, 7, 3), SearchOptions(beam_size=4, max_length=longest))])
        while not engine.is_idle:
            engine.step()
            assert engine.ring_bytes == expected


def test_one_wide_search_costs_no_more_than_its_own_lane(load: LoadBackend) -> None:
    engine = new_engine(load("onnx", "fp32"), slots=3)
    options = [SearchOptions(beam_size=size, max_length=6) for size in (1, 4, 7)]
    engine.queue.put([SentenceRequest((5, 6, 3), option) for option in options])
    engine.step()
    assert {kind.beam: lane.num_running for kind, lane in engine.lanes.items()} == {1: 1, 4: 1, 8: 1}
    run(engine)


def test_results_have_timings(load: LoadBackend) -> None:
    (result,) = translate(load("onnx", "fp32"), [(5, 6, 3)], SearchOptions(max_length=5))
    assert min(result.timings.queue, result.timings.encode, result.timings.decode) >= 0
    assert result.timings.decode > 0


@settings(deadline=None)
@given(lengths=st.lists(st.integers(1, 256), min_size=1, max_size=40))
def test_sentences_of_similar_length_are_encoded_together(lengths: list[int]) -> None:
    requests = [SentenceRequest((5,) * length, SearchOptions()) for length in lengths]
    groups = group_by_length(requests, lambda request: len(request.source_ids))
    assert sorted(map(id, requests)) == sorted(id(request) for group in groups for request in group)
    widths = [max(len(request.source_ids) for request in group) for group in groups]
    for group, width in zip(groups, widths, strict=True):
        assert sum(width - len(request.source_ids) for request in group) <= MAX_PADDING
    assert widths == sorted(widths)
    if max(lengths) == min(lengths):
        assert len(groups) == 1


@settings(deadline=None)
@given(lengths=st.lists(st.integers(1, 256), max_size=40))
def test_encoder_batches_hold_every_sentence_and_no_more_than_a_call_takes(lengths: list[int]) -> None:
    sources = [(number, *range(length - 1)) for number, length in enumerate(lengths)]
    batches = encoder_batches(sources)
    assert sorted(tuple(ids) for batch in batches for ids in batch) == sorted(sources)
    for batch in batches:
        width = max(map(len, batch))
        assert 1 <= len(batch) <= ENCODE_AHEAD
        assert width * len(batch) <= ENCODE_TOKENS
        assert sum(width - len(ids) for ids in batch) <= MAX_PADDING

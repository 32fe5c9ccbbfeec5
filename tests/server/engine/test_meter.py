"""The metrics have what the engine did: counts of tokens, padding and steps, and seconds that add up."""

import random

import pytest

from server.engine.engine import Engine
from server.engine.lane import Lane
from server.engine.meter import STEPS_PER_REPORT, EngineMeter
from server.engine.request import SearchOptions, SentenceRequest
from server.engine.scheduler import RequestQueue
from server.telemetry.metrics import Metrics
from tests.server.engine.conftest import LoadBackend
from tests.server.engine.runs import random_source, run, ticking_clock


class Measured:
    """An engine with metrics of its own."""

    def __init__(self, load: LoadBackend, slots: int) -> None:
        self.metrics = Metrics()
        self.backend = load("onnx", "fp32")
        self.engine = Engine(self.backend, RequestQueue(1000), slots, EngineMeter(self.metrics, "tiny"))

    def value(self, name: str, **labels: str) -> float:
        result = self.metrics.registry.get_sample_value(f"ringmt_{name}", {"model": "tiny", **labels})
        assert result is not None, name
        return result

    def translate(self, requests: list[SentenceRequest]) -> None:
        self.engine.queue.put(requests)
        run(self.engine)


@pytest.mark.parametrize("slots", [1, 4])
def test_tokens_and_sentences_are_counted_once(load: LoadBackend, slots: int) -> None:
    measured, numbers = Measured(load, slots), random.Random(slots)
    options = SearchOptions(beam_size=2, max_length=9)
    requests = [SentenceRequest(random_source(numbers), options) for _ in range(13)]
    measured.translate(requests)
    best = [request.future.result(timeout=0).hypotheses[0] for request in requests]
    sources = sum(len(request.source_ids) for request in requests)
    assert measured.value("source_tokens_total") == measured.value("encode_batch_tokens_sum") == sources
    assert measured.value("target_tokens_total") == sum(item.num_tokens for item in best)
    for reason in ("eos", "length"):
        counted = measured.value("sentences_total", finish_reason=reason)
        assert counted == sum(sentence.finish_reason == reason for sentence in best)
    for name in ("sentence_queue_seconds", "sentence_encode_seconds", "time_to_first_token_seconds"):
        assert measured.value(f"{name}_count") == len(requests)
    ring = measured.backend.manifest.ring_capacity
    assert measured.value("ring_cache_wraps_total") == sum((item.num_tokens - 1) // ring for item in best)
    assert measured.value("decode_steps_total") == measured.value("decode_step_seconds_count")
    assert measured.value("decode_steps_total") >= max(item.num_tokens for item in best)


def test_every_step_of_a_lane_is_counted_once(load: LoadBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps are reported STEPS_PER_REPORT at a time, and the rest when nothing runs."""
    measured, rows = Measured(load, slots=2), list[int]()
    step = Lane.step

    def counted(lane: Lane) -> None:
        rows.append(lane.num_running * lane.beam)
        step(lane)

    monkeypatch.setattr(Lane, "step", counted)
    options = SearchOptions(beam_size=2, max_length=40)
    measured.translate([SentenceRequest((5, 6, number, 3), options) for number in range(7, 17)])
    assert len(rows) > STEPS_PER_REPORT
    assert measured.value("decode_steps_total") == len(rows)
    assert measured.value("decode_batch_rows_sum") == sum(rows)


def test_padding_is_what_a_batch_has_beside_its_tokens(load: LoadBackend) -> None:
    measured = Measured(load, slots=8)
    lengths = (9, 9, 7, 5)
    measured.translate([SentenceRequest((5,) * (n - 1) + (3,), SearchOptions(max_length=2)) for n in lengths])
    assert measured.value("encode_batch_tokens_count") == 1
    assert measured.value("encode_batch_tokens_sum") == sum(lengths)
    assert measured.value("padding_tokens_total") == 4 * 9 - sum(lengths)


def test_the_seconds_of_a_sentence_follow_each_other_and_add_up(
    load: LoadBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock that ticks whenever it is looked at: no second is counted twice and none is left out."""
    ticks = ticking_clock(monkeypatch, 1.0)
    measured = Measured(load, slots=1)
    requests = [SentenceRequest((5, 6, 7, 3), SearchOptions(beam_size=2, max_length=6)) for _ in range(3)]
    measured.engine.queue.put(requests)
    while not measured.engine.is_idle:
        before = next(ticks)
        done = {id(request) for request in requests if request.future.done()}
        measured.engine.step()
        for request in requests:
            if request.future.done() and id(request) not in done:
                timings = request.future.result(timeout=0).timings
                assert min(timings.queue, timings.encode, timings.decode) > 0
                ended = request.arrival + timings.queue + timings.encode + timings.decode
                assert before < ended < next(ticks), "it was answered in this step"
                length = request.future.result(timeout=0).hypotheses[0].num_tokens
                assert timings.decode >= length, "every token takes a step, and every step a tick"
    whole = sum(item.future.result(timeout=0).timings.queue for item in requests)
    assert measured.value("sentence_queue_seconds_sum") == pytest.approx(whole)
    tokens = [(item.future.result().timings.decode, item.future.result().hypotheses[0].num_tokens) for item in requests]
    assert measured.value("time_per_output_token_seconds_sum") == pytest.approx(sum(s / n for s, n in tokens))

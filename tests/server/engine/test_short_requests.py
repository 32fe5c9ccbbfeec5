"""Short requests beside long ones: lanes and spare slots of their own, and a fixed share of time for each."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.backends.base import Backend
from server.backends.state import Encoded, Flags, Ints
from server.engine.engine import Engine
from server.engine.lane import Lane
from server.engine.placement import MIN_PART_TOKENS
from server.engine.request import Overloaded, SearchOptions, SentenceRequest
from server.engine.scheduler import MAX_SHORT_SENTENCES, MAX_SHORT_TOKENS, RequestQueue
from server.engine.short_share import SHORT_SHARE
from server.scheduling.caller import Caller, Service
from tests.server.engine.conftest import LoadBackend
from tests.server.engine.integrity import check_integrity
from tests.server.engine.runs import METER, new_engine, ticking_clock

SHORT = (5, 6, 7, 3)
LONGEST = 12


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    ticking_clock(monkeypatch, 0.001)


def long_work(engine: Engine, count: int = 200) -> list[SentenceRequest]:
    options = SearchOptions(beam_size=2, max_length=40)
    requests = [SentenceRequest((*range(5, 5 + index % 20), 3), options) for index in range(count)]
    engine.queue.put(requests)
    return requests


def short_request(source: tuple[int, ...] = SHORT) -> SentenceRequest:
    return SentenceRequest(source, SearchOptions(beam_size=2, max_length=LONGEST))


def part() -> SentenceRequest:
    """A sentence for which one more engine is worth its steps."""
    return short_request((*range(5, 4 + MIN_PART_TOKENS), 3))


def rounds_until(engine: Engine, request: SentenceRequest) -> int:
    for rounds in itertools.count():
        if request.future.done():
            return rounds
        engine.step()
        check_integrity(engine)
    raise AssertionError


@pytest.mark.parametrize("warm_up", [1, 8, 33])
def test_a_short_request_needs_no_slot_of_long_work(load: LoadBackend, warm_up: int) -> None:
    """Long work has all slots at each of its steps, and when the short request gets one; few rounds belong to it until
    that is done."""
    engine = new_engine(load("onnx", "fp32"), slots=4, max_waiting=1000)
    long_work(engine)
    running: list[int] = []
    beside_short: list[int] = []
    step_lane = engine.step_lane

    def counted(lane: Lane) -> float:
        if lane.kind.is_short:
            beside_short.append(engine.num_running - lane.num_running)
        else:
            running.append(lane.num_running)
        return step_lane(lane)

    engine.step_lane = counted  # type: ignore[method-assign]
    for _ in range(warm_up):
        engine.step()
    assert running == [4] * warm_up
    request = short_request()
    engine.queue.put([request])
    assert rounds_until(engine, request) <= LONGEST + 2 + LONGEST // SHORT_SHARE
    assert beside_short[0] == 4
    engine.step()
    assert set(running) == {4}
    assert len(running) > warm_up


@pytest.mark.parametrize("is_short_waiting", [False, True])
def test_short_requests_wait_for_one_batch_of_the_encoder(
    load: LoadBackend, monkeypatch: pytest.MonkeyPatch, is_short_waiting: bool
) -> None:
    """Without them, the encoder fills all slots in a round."""
    monkeypatch.setattr("server.engine.engine.MAX_ENCODE_SECONDS", 0.0)
    engine = new_engine(load("onnx", "fp32"), slots=8, max_waiting=1000)
    longest = (*[5] * (engine.backend.manifest.max_source_length - 1), 3)
    engine.queue.put([SentenceRequest(longest, SearchOptions(beam_size=1, max_length=40)) for _ in range(20)])
    if is_short_waiting:
        engine.queue.put([short_request()])
    engine.step()
    batch = max(1, engine.backend.device.encoder_tokens // len(longest))
    assert batch < 8
    longer = [lane.num_running for kind, lane in engine.lanes.items() if not kind.is_short]
    assert longer == [batch if is_short_waiting else 8]


def test_long_work_keeps_its_share_of_time(load: LoadBackend) -> None:
    """Although there are always short requests: it takes at most as many times longer as there are shares."""
    alone = new_engine(load("onnx", "fp32"), slots=4, max_waiting=1000)
    [*_, last] = long_work(alone, 30)
    rounds = rounds_until(alone, last)
    beside = new_engine(load("onnx", "fp32"), slots=4, max_waiting=1000)
    requests = long_work(beside, 30)
    shorts: list[SentenceRequest] = []
    count = 0
    while not all(request.future.done() for request in requests):
        shorts = [request for request in shorts if not request.future.done()]
        while len(shorts) < 8:
            shorts.append(short_request())
            beside.queue.put([shorts[-1]])
        beside.step()
        check_integrity(beside)
        count += 1
        assert count < 20 * (1 + SHORT_SHARE) * rounds
    assert count > rounds


def test_short_requests_alone_have_no_spare_slots(load: LoadBackend) -> None:
    engine = new_engine(load("onnx", "fp32"), slots=4, max_waiting=1000)
    requests = [short_request() for _ in range(20)]
    for request in requests:
        engine.queue.put([request])
    running: list[int] = []
    step_lane = engine.step_lane

    def counted(lane: Lane) -> float:
        running.append(engine.num_running)
        return step_lane(lane)

    engine.step_lane = counted  # type: ignore[method-assign]
    while not all(request.future.done() for request in requests):
        engine.step()
        check_integrity(engine)
    assert max(running) == 4


@pytest.mark.parametrize("count", range(1, MAX_SHORT_SENTENCES + 1))
def test_idle_engines_take_equal_parts_of_a_short_request_each_as_one_batch(
    load: LoadBackend, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Though the second one comes while the first one encodes. Its lane has no more slots than it needs. The sentences
    are long enough to be worth a second engine."""
    backend = load("onnx", "fp32")
    first, second = engines_of_one_queue(backend, 2)
    batches: list[int] = []
    encode = type(backend).encode

    def beside(self: Backend, source_ids: Ints, source_keep: Flags) -> list[Encoded]:
        batches.append(len(source_ids))
        if len(batches) == 1 < count:
            second.encode()
        return encode(self, source_ids, source_keep)

    monkeypatch.setattr(type(backend), "encode", beside)
    requests = [part() for _ in range(count)]
    first.queue.put(requests)
    parts = [-(-count // 2), count // 2] if count > 1 else [1]
    first.encode()
    assert batches == parts
    for _ in range(2 * LONGEST):
        for engine in (first, second):
            engine.step()
            check_integrity(engine)
    assert first.is_idle
    assert second.is_idle
    assert batches == parts
    assert first.queue.fair_share_of_short(1) == 0


def test_a_short_request_does_not_wait_for_an_engine_that_is_busy(load: LoadBackend) -> None:
    """The second engine never comes: the first one takes sentences in each of its rounds."""
    first, _ = engines_of_one_queue(load("onnx", "fp32"), 2)
    first.queue.put([part() for _ in range(8)])
    waiting: list[int] = []
    for _ in range(4):
        first.encode()
        waiting.append(first.queue.num_short)
    assert waiting == [4, 2, 1, 0]
    late = short_request()
    first.queue.put([late])
    first.encode()
    assert late.is_taken


def test_sentences_that_are_not_worth_a_second_engine_stay_together(load: LoadBackend) -> None:
    """They go to the engine that has less to do, beside which another one that is busy takes none of them."""
    first, second = engines_of_one_queue(load("onnx", "fp32"), 2)
    first.queue.put([short_request() for _ in range(4)])
    first.encode()
    assert len(first.encoded) == 4
    first.queue.put([short_request() for _ in range(3)])
    second.encode()
    assert len(second.encoded) == 3
    first.queue.put([short_request() for _ in range(8)])
    first.encode()
    assert len(first.encoded) == 4
    second.encode()
    assert len(second.encoded) == 11


def test_other_work_that_waits_or_runs_is_divided_in_equal_numbers(load: LoadBackend) -> None:
    first, second = engines_of_one_queue(load("onnx", "fp32"), 2)
    queue = first.queue
    queue.put([short_request()])
    assert queue.place_short(0, 2) == len(SHORT)
    long_work(first, 30)
    assert queue.place_short(0, 2) is None
    while len(queue):
        second.encode()
        first.encode()
    queue.put([short_request()])
    assert queue.place_short(0, 2) is None


def test_the_engine_with_fewer_sentences_of_short_requests_takes_more(load: LoadBackend) -> None:
    first, second = engines_of_one_queue(load("onnx", "fp32"), 2)
    first.queue.put([short_request() for _ in range(8)])
    for _ in range(4):
        first.encode()
    assert len(first.encoded) == 8
    first.queue.put([short_request() for _ in range(8)])
    second.encode()
    assert len(second.encoded) == 8


def engines_of_one_queue(backend: Backend, count: int) -> list[Engine]:
    queue = RequestQueue(1000)
    return [Engine(backend, queue, 16, METER, count) for _ in range(count)]


def test_all_encoded_sentences_of_short_requests_fail_with_the_engine(load: LoadBackend) -> None:
    engine = new_engine(load("onnx", "fp32"), slots=1)
    requests = [short_request() for _ in range(6)]
    for request in requests:
        engine.queue.put([request])
    engine.encode()
    assert engine.encoded.short
    assert not engine.is_idle
    engine.fail(ValueError("broken"))
    taken = [request for request in requests if request.is_taken]
    assert taken
    assert all(isinstance(request.future.exception(timeout=0), ValueError) for request in taken)
    assert engine.queue.in_flight == 0


def test_a_request_is_short_by_its_sentences_its_tokens_and_its_service() -> None:
    def is_short(requests: list[SentenceRequest]) -> bool:
        queue = RequestQueue(1000)
        queue.put(requests)
        assert queue.num_short in (0, len(requests))
        return queue.num_short > 0

    assert is_short([short_request() for _ in range(MAX_SHORT_SENTENCES)])
    assert not is_short([short_request() for _ in range(MAX_SHORT_SENTENCES + 1)])
    long_sentence = SentenceRequest((*[5] * MAX_SHORT_TOKENS, 3), SearchOptions())
    assert not is_short([long_sentence])
    assert not is_short([SentenceRequest(SHORT, SearchOptions(), caller=Caller("a", Service.BACKGROUND))])


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(1, 2 * MAX_SHORT_SENTENCES), st.sampled_from("abc")),
        st.tuples(st.sampled_from(("take", "take short")), st.integers(1, 9), st.just("")),
        st.tuples(st.just("cancel"), st.integers(0, 50), st.just("")),
    ),
    max_size=40,
)


@given(STEPS)
def test_both_queues_agree_on_which_sentences_wait(steps: list[tuple[str, int, str]]) -> None:
    """The slow reference keeps a list: every sentence is taken or aborted once, whichever queue it is taken from."""
    queue, waiting, everything = RequestQueue(100), list[SentenceRequest](), list[SentenceRequest]()
    for kind, number, tenant in steps:
        if kind == "put":
            requests = [SentenceRequest(SHORT, SearchOptions(), caller=Caller(tenant)) for _ in range(number)]
            try:
                queue.put(requests)
            except Overloaded:
                continue
            waiting += requests
            everything += requests
        elif kind == "cancel" and everything:
            everything[number % len(everything)].cancel()
        elif kind != "cancel":
            taken, aborted = queue.take(number, 10**6, kind == "take short")
            assert len(taken) <= number
            assert all(request.is_short for request in taken + aborted) or kind == "take"
            assert not any(request.is_cancelled for request in taken)
            for request in taken + aborted:
                waiting.remove(request)
            left = [request for request in waiting if request.is_short or kind == "take"]
            assert len(taken) == number or not left
        assert len(queue) == len(waiting)
        assert queue.num_short == sum(request.is_short for request in waiting)


def test_short_requests_of_tenants_take_turns() -> None:
    queue = RequestQueue(1000)
    for tenant, count in (("greedy", 20), ("modest", 2)):
        for _ in range(count):
            queue.put([SentenceRequest((*range(5, 40), 3), SearchOptions(), caller=Caller(tenant))])
    taken, _ = queue.take(6, 10**6, only_short=True)
    assert sum(request.caller.tenant == "modest" for request in taken) == 2

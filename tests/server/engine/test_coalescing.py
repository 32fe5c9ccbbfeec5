"""Sentences from the cache and coalesced searches have the results that the engine would compute."""

import dataclasses
import gc
import random
import time
import weakref
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.backends.context import ContextAttention, SentenceContext, full_context
from server.engine.coalescing import CoalescedSearch, SearchCoalescer, key_of, packed, unpacked
from server.engine.engine import Engine
from server.engine.in_flight import InFlight
from server.engine.queue_budget import Reservation
from server.engine.request import (
    Cancelled,
    DeadlineExceeded,
    Hypothesis,
    Overloaded,
    SearchOptions,
    SentenceRequest,
    SentenceResult,
    Timings,
)
from server.engine.scheduler import RequestQueue
from server.engine.translation_cache import TranslationCache
from server.telemetry.labels import SearchLookup
from tests.growth import assert_linear_count, thread_seconds
from tests.server.engine.conftest import LoadBackend
from tests.server.engine.integrity import check_integrity
from tests.server.engine.runs import new_engine, run, translate
from tests.server.engine.test_engine import assert_same

OPTIONS = SearchOptions(max_length=20)
SOURCE = (5, 6, 7, 8, 3)


class CountedQueue(InFlight):
    """`num_queued`: sentences that were queued until now."""

    num_queued = 0

    def submit(self, requests: Sequence[SentenceRequest], reservation: Reservation | None = None) -> None:
        super().submit(requests, reservation)
        self.num_queued += len(requests)


class CoalescedEngine:
    """An engine behind a SearchCoalescer; `lookups` counts cache lookups by result."""

    def __init__(self, load: LoadBackend, budget: int = 1_000_000, slots: int = 2, max_waiting: int = 1_000) -> None:
        self.engine: Engine = new_engine(load("onnx", "fp32"), slots, max_waiting)
        self.lookups: Counter[SearchLookup] = Counter()
        self.queued = CountedQueue(self.engine.queue)
        self.cache = TranslationCache(budget)
        self.searches = SearchCoalescer(self.cache, self.queued, lambda lookup: self.lookups.update([lookup]))

    @property
    def decoded(self) -> int:
        """Sentences that the engine received."""
        return self.queued.num_queued

    def submit(self, *requests: SentenceRequest) -> None:
        self.searches.submit(requests)

    def step(self) -> None:
        self.engine.step()
        check_integrity(self.engine)

    def run(self) -> None:
        run(self.engine)


def results(requests: Sequence[SentenceRequest]) -> list[SentenceResult]:
    return [request.future.result(timeout=0) for request in requests]


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 10_000))
def test_the_same_results_with_and_without_a_cache(load: LoadBackend, seed: int) -> None:
    """Random arrivals of a few sentences with many options, some cancelled, in a cache that is often too small."""
    generator = random.Random(seed)
    engine = CoalescedEngine(
        load, budget=generator.choice([0, 1_500, 6_000, 1_000_000]), slots=generator.choice([1, 3])
    )
    sources = [(*(generator.randrange(4, 320) for _ in range(generator.randrange(1, 9))), 3) for _ in range(3)]
    choices = [
        SearchOptions(beam, min(beam, count), penalty, longest, follows)
        for beam, count, penalty, longest, follows in [
            (1, 1, 1.0, 12, False), (4, 1, 1.0, 12, False), (4, 4, 1.0, 12, False), (4, 1, 0.0, 12, False),
            (4, 1, 1.0, 5, False), (4, 1, 1.0, 30, True), (2, 2, 0.6, 30, True),
        ]
    ]  # fmt: skip
    requests: list[SentenceRequest] = []
    for _ in range(60):
        deadline = generator.choice([None, time.monotonic() + 600])
        options = dataclasses.replace(generator.choice(choices), deadline=deadline)
        requests.append(SentenceRequest(generator.choice(sources), options, owner=generator.randrange(3)))
        engine.submit(requests[-1])
        if generator.random() < 0.2:
            generator.choice(requests).cancel()
        for _ in range(generator.randrange(6)):
            engine.step()
    engine.run()
    alone: dict[tuple[tuple[int, ...], SearchOptions], SentenceResult] = {}
    for request in requests:
        error = request.future.exception(timeout=0)
        if error is not None:
            assert isinstance(error, Cancelled)
            assert request.is_cancelled
            continue
        key = (request.source_ids, dataclasses.replace(request.options, deadline=None))
        if key not in alone:
            [alone[key]] = translate(load("onnx", "fp32"), [key[0]], key[1], slots=1)
        assert_same(request.future.result(), alone[key])
    assert sum(engine.lookups.values()) == len(requests)
    assert engine.lookups["miss"] == engine.decoded


def test_a_decoded_sentence_is_not_decoded_again(load: LoadBackend) -> None:
    engine = CoalescedEngine(load)
    first, second = (SentenceRequest(SOURCE, OPTIONS) for _ in range(2))
    engine.submit(first)
    engine.run()
    engine.submit(second)
    assert second.future.done()
    assert second.future.result().hypotheses == first.future.result().hypotheses
    assert engine.decoded == 1
    assert engine.lookups == {"hit": 1, "miss": 1}


def test_sentences_in_flight_share_a_search(load: LoadBackend) -> None:
    """Equal sentences of one request, equal sentences that arrive while it waits, and while it runs."""
    engine = CoalescedEngine(load)
    requests = [SentenceRequest(SOURCE, OPTIONS, owner=owner) for owner in ("a", "a", "b", "c")]
    engine.submit(*requests[:2])
    engine.submit(requests[2])
    engine.step()
    engine.submit(requests[3])
    engine.run()
    assert engine.decoded == 1
    assert engine.lookups == {"miss": 1, "shared": 3}
    assert len({result.hypotheses for result in results(requests)}) == 1


@pytest.mark.parametrize("steps", [0, 1])
def test_the_first_member_may_be_cancelled(load: LoadBackend, steps: int) -> None:
    engine = CoalescedEngine(load)
    first, second, third = (SentenceRequest(SOURCE, OPTIONS, owner=owner) for owner in "abc")
    engine.submit(first)
    engine.submit(second, third)
    for _ in range(steps):
        engine.step()
    first.cancel()
    with pytest.raises(Cancelled):
        first.future.result(timeout=0)
    engine.run()
    assert_same(second.future.result(timeout=0), translate(load("onnx", "fp32"), [SOURCE], OPTIONS)[0])
    assert third.future.done()
    assert engine.decoded == 1


def test_when_all_are_cancelled_the_slot_is_free_at_the_next_step(load: LoadBackend) -> None:
    engine = CoalescedEngine(load)
    requests = [SentenceRequest(SOURCE, OPTIONS) for _ in range(2)]
    engine.submit(*requests)
    engine.step()
    assert engine.engine.num_running == 1
    for request in requests:
        request.cancel()
    later = SentenceRequest(SOURCE, OPTIONS)  # does not join a cancelled search
    engine.submit(later)
    engine.step()
    assert [isinstance(request.future.exception(timeout=0), Cancelled) for request in requests] == [True, True]
    engine.run()
    assert later.future.result(timeout=0).hypotheses
    assert engine.decoded == 2


def test_an_expired_member_does_not_fail_the_others(load: LoadBackend) -> None:
    engine = CoalescedEngine(load)
    late = SentenceRequest(SOURCE, dataclasses.replace(OPTIONS, deadline=time.monotonic() - 1))
    in_time = SentenceRequest(SOURCE, dataclasses.replace(OPTIONS, deadline=time.monotonic() + 600))
    engine.submit(late)
    engine.submit(in_time)
    engine.run()
    assert in_time.future.result(timeout=0).hypotheses
    assert engine.decoded == 1


@settings(deadline=None)
@given(
    seconds=st.lists(st.one_of(st.none(), st.integers(100, 900)), min_size=1, max_size=6),
    together=st.integers(1, 6),
    leave=st.lists(st.integers(0, 5), max_size=5),
)
def test_a_search_has_the_latest_deadline_of_its_members(
    seconds: list[int | None], together: int, leave: list[int]
) -> None:
    """Whether members are submitted together, join or are cancelled. None: no deadline."""
    queue = RequestQueue(100)
    searches = SearchCoalescer(TranslationCache(10_000), InFlight(queue))
    now = time.monotonic()
    options = [dataclasses.replace(OPTIONS, deadline=None if wait is None else now + wait) for wait in seconds]
    members = [SentenceRequest(SOURCE, option) for option in options]

    searches.submit(members[:together])
    for member in members[together:]:
        searches.submit([member])
    [search] = queue.take(100, 100)[0]
    assert search.deadline == max(request.deadline for request in members)
    for index in leave:
        if index < len(members) and len(members) > 1:
            members.pop(index).cancel()
            assert search.deadline == max(request.deadline for request in members)
            assert not search.is_cancelled
    search.future.set_exception(DeadlineExceeded("expired before its deadline was extended"))
    [again] = queue.take(100, 100)[0]  # no member is expired: they are searched again together
    assert again.deadline == max(request.deadline for request in members)
    assert not any(request.future.done() for request in members)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_whoever_leaves_the_latest_deadline_of_the_others_holds(deadlines: list[int], order: random.Random) -> None:
    members = [SentenceRequest(SOURCE, SearchOptions(deadline=float(deadline))) for deadline in deadlines]
    search = CoalescedSearch(b"", members)
    order.shuffle(members)
    while len(members) > 1:
        assert search.deadline == max(member.deadline for member in members)
        search.remove(members.pop())
    assert search.take_members() == members
    assert search.take_members() == []


@pytest.mark.parametrize("step", [1, -1])
def test_cancelling_many_equal_sentences_takes_linear_time(load: LoadBackend, step: int) -> None:
    def seconds(count: int) -> float:
        coalesced = CoalescedEngine(load, max_waiting=count)
        options = [dataclasses.replace(OPTIONS, deadline=time.monotonic() + 60 + number) for number in range(count)]
        requests = [SentenceRequest(SOURCE, each) for each in options]
        coalesced.submit(*requests)
        return thread_seconds(lambda: list(map(SentenceRequest.cancel, requests[::step])))

    assert_linear_count(seconds, 500)


def test_an_expired_search_is_repeated_for_members_that_joined_meanwhile(load: LoadBackend) -> None:
    engine = CoalescedEngine(load)
    first = SentenceRequest(SOURCE, OPTIONS)
    engine.submit(first)
    [search] = engine.engine.queue.take(1, 100)[0]
    search.future.set_exception(DeadlineExceeded("too late"))  # decided before its deadline was extended
    engine.engine.queue.task_done()
    engine.run()
    assert first.future.result(timeout=0).hypotheses
    assert engine.decoded == 2


def test_all_members_are_expired(load: LoadBackend) -> None:
    engine = CoalescedEngine(load)
    late = [SentenceRequest(SOURCE, dataclasses.replace(OPTIONS, deadline=time.monotonic() - 1)) for _ in range(2)]
    engine.submit(*late)
    engine.run()
    assert all(isinstance(request.future.exception(timeout=0), DeadlineExceeded) for request in late)


def test_an_error_fails_all_members_and_is_not_cached(load: LoadBackend) -> None:
    engine = CoalescedEngine(load)
    requests = [SentenceRequest(SOURCE, OPTIONS) for _ in range(2)]
    engine.submit(*requests)
    engine.step()
    engine.engine.fail(RuntimeError("the graph broke"))
    assert [str(request.future.exception(timeout=0)) for request in requests] == ["the graph broke"] * 2
    again = SentenceRequest(SOURCE, OPTIONS)
    engine.submit(again)
    engine.run()
    assert again.future.result(timeout=0).hypotheses


def test_nothing_is_queued_above_the_limit(load: LoadBackend) -> None:
    engine = CoalescedEngine(load, max_waiting=1)
    known = SentenceRequest(SOURCE, OPTIONS)
    engine.submit(known)
    engine.run()
    requests = [SentenceRequest(source, OPTIONS) for source in (SOURCE, (9, 3), (10, 3))]
    with pytest.raises(Overloaded):
        engine.submit(*requests)
    assert not any(request.future.done() for request in requests)
    engine.submit(*requests[:2])
    engine.run()
    assert len(results(requests[:2])) == 2


def test_a_joining_request_does_not_wait_in_the_flow_of_the_first(load: LoadBackend) -> None:
    """The sentence is the last of a document; another request for it is resolved in its own turn."""
    engine = CoalescedEngine(load, slots=1)
    document = [SentenceRequest((*range(10 + start, 20 + start), 3), OPTIONS, owner="document") for start in range(40)]
    engine.submit(*document)
    alone = SentenceRequest(document[-1].source_ids, OPTIONS, owner="short")
    engine.submit(alone)
    while not alone.future.done():
        engine.step()
    assert sum(request.future.done() for request in document) < 20
    engine.run()
    assert engine.decoded == len(document)
    assert all(result.hypotheses for result in results(document))
    assert len(engine.engine.queue) == 0


def test_a_shutdown_resolves_every_request_once(load: LoadBackend) -> None:
    engine = CoalescedEngine(load)
    requests = [SentenceRequest(SOURCE, OPTIONS, owner=owner) for owner in "ab"]
    engine.submit(requests[0])
    engine.submit(requests[1])
    for left in engine.engine.queue.clear():
        left.future.set_exception(RuntimeError("stopped"))
    assert [str(request.future.exception(timeout=0)) for request in requests] == ["stopped"] * 2


def test_a_key_is_everything_but_the_deadline_and_the_formality(load: LoadBackend) -> None:
    request = SentenceRequest(SOURCE, OPTIONS)
    assert key_of(request) == key_of(SentenceRequest(SOURCE, dataclasses.replace(OPTIONS, deadline=5.0), owner=1))
    assert key_of(request) == key_of(SentenceRequest(SOURCE, dataclasses.replace(OPTIONS, formality="more")))
    others = [
        dataclasses.replace(OPTIONS, beam_size=3),
        dataclasses.replace(OPTIONS, num_hypotheses=2),
        dataclasses.replace(OPTIONS, length_penalty=0.5),
        dataclasses.replace(OPTIONS, max_length=7),
        dataclasses.replace(OPTIONS, follows_source=True),
    ]
    assert len(others) + 2 == len(dataclasses.fields(SearchOptions))
    keys = {key_of(SentenceRequest(SOURCE, options)) for options in others}
    assert len(keys | {key_of(request)}) == len(others) + 1
    assert key_of(SentenceRequest((5, 6, 3), OPTIONS)) != key_of(request)
    assert key_of(SentenceRequest(SOURCE, OPTIONS, targets=((5, 3),))) is None


def test_a_context_counts_only_where_its_content_is_known() -> None:
    states = {"sentence": np.ones(4, np.float16), "words": np.ones((2, 4), np.float16)}
    unknown = full_context([states], [2])
    assert unknown is not None
    known = [SentenceContext(unknown.stored, unknown.distance, key) for key in (b"a", b"b")]
    keys = [key_of(SentenceRequest(SOURCE, OPTIONS, context)) for context in (*known, unknown, None)]
    assert keys[2] is None
    assert None not in (keys[0], keys[1], keys[3])
    assert len(set(keys)) == 4


def test_a_result_comes_back_as_it_was() -> None:
    attention = ContextAttention(np.array([[0.25, 0.75]], np.float32), 0.5)
    result = SentenceResult(
        (Hypothesis((7, 300), -1.25, -0.4, "eos", (), (0.25, 1.0)), Hypothesis((), -3.0, -3.0, "length")),
        Timings(1, 2, 3),
        attention,
    )
    back = unpacked(packed(result))
    assert back.hypotheses == result.hypotheses
    assert back.timings == Timings(0, 0, 0)
    assert back.context is not None
    assert back.context.gate == 0.5
    assert np.array_equal(back.context.weights, attention.weights)


def test_coverage_comes_with_a_shared_search_and_from_the_cache(load: LoadBackend) -> None:
    engine = CoalescedEngine(load)
    aligner = engine.engine.backend.aligner
    assert aligner is not None
    aligner.prepare()
    requests = [SentenceRequest(SOURCE, OPTIONS, wants_coverage=lambda pair: True) for _ in range(3)]
    engine.submit(*requests[:2])
    engine.run()
    engine.submit(requests[2])
    engine.run()
    assert engine.lookups == {"miss": 1, "shared": 1, "hit": 1}
    coverages = {result.hypotheses[0].coverage for result in results(requests)}
    assert len(coverages) == 1
    assert None not in coverages


def test_a_resolved_request_is_freed_at_once(load: LoadBackend) -> None:
    """Without the garbage collector: requests refer to large contexts."""
    engine = CoalescedEngine(load)
    gc.disable()
    try:
        requests = [SentenceRequest(SOURCE, OPTIONS), SentenceRequest(SOURCE, OPTIONS)]
        freed = [weakref.ref(request) for request in requests]
        engine.submit(*requests)
        freed += [weakref.ref(search) for search in engine.searches._searches.values()]
        engine.run()
        assert len(results(requests)) == 2
        requests.clear()
        assert len(freed) == 3
        assert [reference() for reference in freed] == [None] * 3
    finally:
        gc.enable()


def test_sentences_that_report_partials_leave_nothing_to_the_garbage_collector(load: LoadBackend) -> None:
    coalesced = CoalescedEngine(load, budget=0, slots=4)
    gc.collect()
    gc.disable()
    try:
        requests = [SentenceRequest((5, 6 + number, 3), OPTIONS, on_partial=lambda ids: None) for number in range(20)]
        requests += [SentenceRequest(SOURCE, OPTIONS, on_partial=lambda ids: None) for _ in range(20)]
        coalesced.submit(*requests)
        for _ in range(5):
            coalesced.step()
        requests[3].cancel()
        coalesced.run()
        assert all(request.future.done() for request in requests)
        requests.clear()
        assert gc.collect() == 0
    finally:
        gc.enable()

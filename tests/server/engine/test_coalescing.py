"""Sentences that are answered from the cache, or share a search: with the answers that the engine would have given."""

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

from server.backends.context import ContextUse, SentenceContext, all_of
from server.engine.coalescing import SearchCoalescer, key_of, packed, unpacked
from server.engine.engine import Engine
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
from server.engine.translation_cache import TranslationCache
from server.telemetry.labels import SearchLookup
from tests.server.engine.conftest import LoadBackend
from tests.server.engine.runs import new_engine, run, translate
from tests.server.engine.test_engine import assert_same

OPTIONS = SearchOptions(max_length=20)
SOURCE = (5, 6, 7, 8, 3)


class Asked:
    """An engine behind shared searches; `lookups` counts what became of sentences, `decoded` those that it took."""

    def __init__(self, load: LoadBackend, budget: int = 1_000_000, slots: int = 2, max_waiting: int = 1_000) -> None:
        self.engine: Engine = new_engine(load("onnx", "fp32"), slots, max_waiting)
        self.lookups: Counter[SearchLookup] = Counter()
        self.decoded = 0
        self.cache = TranslationCache(budget)
        self.searches = SearchCoalescer(
            self.cache, self._submit, self.engine.waiting.requeue, lambda lookup: self.lookups.update([lookup])
        )

    def _submit(self, requests: Sequence[SentenceRequest]) -> None:
        self.engine.waiting.put(list(requests))
        self.decoded += len(requests)

    def ask(self, *requests: SentenceRequest) -> None:
        self.searches.submit(requests)

    def step(self) -> None:
        self.engine.step()
        self.engine.check_integrity()

    def run(self) -> None:
        run(self.engine)


def results(requests: Sequence[SentenceRequest]) -> list[SentenceResult]:
    return [request.future.result(timeout=0) for request in requests]


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 10_000))
def test_the_same_answers_with_and_without_a_cache(load: LoadBackend, seed: int) -> None:
    """Random arrivals of a few sentences with many options, some cancelled, in a cache that is often too small."""
    generator = random.Random(seed)
    asked = Asked(load, budget=generator.choice([0, 1_500, 6_000, 1_000_000]), slots=generator.choice([1, 3]))
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
        asked.ask(requests[-1])
        if generator.random() < 0.2:
            generator.choice(requests).cancel()
        for _ in range(generator.randrange(6)):
            asked.step()
    asked.run()
    alone: dict[tuple[tuple[int, ...], SearchOptions], SentenceResult] = {}
    for request in requests:
        error = request.future.exception(timeout=0)
        if error is not None:
            assert isinstance(error, Cancelled)
            assert request.is_cancelled
            continue
        kind = (request.source_ids, dataclasses.replace(request.options, deadline=None))
        if kind not in alone:
            [alone[kind]] = translate(load("onnx", "fp32"), [kind[0]], kind[1], slots=1)
        assert_same(request.future.result(), alone[kind])
    assert sum(asked.lookups.values()) == len(requests)
    assert asked.lookups["miss"] == asked.decoded


def test_what_was_decoded_before_is_not_decoded_again(load: LoadBackend) -> None:
    asked = Asked(load)
    first, second = (SentenceRequest(SOURCE, OPTIONS) for _ in range(2))
    asked.ask(first)
    asked.run()
    asked.ask(second)
    assert second.future.done()
    assert second.future.result().hypotheses == first.future.result().hypotheses
    assert asked.decoded == 1
    assert asked.lookups == {"hit": 1, "miss": 1}


def test_sentences_in_flight_share_a_search(load: LoadBackend) -> None:
    """Those of one request, those that come while it waits, and those that come while it runs."""
    asked = Asked(load)
    requests = [SentenceRequest(SOURCE, OPTIONS, owner=owner) for owner in ("a", "a", "b", "c")]
    asked.ask(*requests[:2])
    asked.ask(requests[2])
    asked.step()
    asked.ask(requests[3])
    asked.run()
    assert asked.decoded == 1
    assert asked.lookups == {"miss": 1, "shared": 3}
    assert len({one.hypotheses for one in results(requests)}) == 1


@pytest.mark.parametrize("steps", [0, 1])
def test_the_first_of_them_may_be_cancelled(load: LoadBackend, steps: int) -> None:
    asked = Asked(load)
    first, second, third = (SentenceRequest(SOURCE, OPTIONS, owner=owner) for owner in "abc")
    asked.ask(first)
    asked.ask(second, third)
    for _ in range(steps):
        asked.step()
    first.cancel()
    with pytest.raises(Cancelled):
        first.future.result(timeout=0)
    asked.run()
    assert_same(second.future.result(timeout=0), translate(load("onnx", "fp32"), [SOURCE], OPTIONS)[0])
    assert third.future.done()
    assert asked.decoded == 1


def test_when_all_are_cancelled_the_slot_is_free_at_the_next_step(load: LoadBackend) -> None:
    asked = Asked(load)
    requests = [SentenceRequest(SOURCE, OPTIONS) for _ in range(2)]
    asked.ask(*requests)
    asked.step()
    assert asked.engine.num_running == 1
    for request in requests:
        request.cancel()
    later = SentenceRequest(SOURCE, OPTIONS)  # does not join what is about to end
    asked.ask(later)
    asked.step()
    assert [isinstance(one.future.exception(timeout=0), Cancelled) for one in requests] == [True, True]
    asked.run()
    assert later.future.result(timeout=0).hypotheses
    assert asked.decoded == 2


def test_a_late_one_does_not_fail_the_others(load: LoadBackend) -> None:
    asked = Asked(load)
    late = SentenceRequest(SOURCE, dataclasses.replace(OPTIONS, deadline=time.monotonic() - 1))
    in_time = SentenceRequest(SOURCE, dataclasses.replace(OPTIONS, deadline=time.monotonic() + 600))
    asked.ask(late)
    asked.ask(in_time)
    asked.run()
    assert in_time.future.result(timeout=0).hypotheses
    assert asked.decoded == 1


@settings(deadline=None)
@given(
    seconds=st.lists(st.one_of(st.none(), st.integers(100, 900)), min_size=1, max_size=6),
    together=st.integers(1, 6),
    leaving=st.lists(st.integers(0, 5), max_size=5),
)
def test_a_search_is_late_when_the_last_of_its_members_is(
    seconds: list[int | None], together: int, leaving: list[int]
) -> None:
    """Whether members come at once, join it or leave it. None has no deadline."""
    queued: list[SentenceRequest] = []
    searches = SearchCoalescer(TranslationCache(10_000), queued.extend, lambda search, line: None)
    now = time.monotonic()
    options = [dataclasses.replace(OPTIONS, deadline=None if one is None else now + one) for one in seconds]
    members = [SentenceRequest(SOURCE, one) for one in options]
    searches.submit(members[:together])
    for member in members[together:]:
        searches.submit([member])
    [search] = queued
    assert search.deadline == max(one.deadline for one in members)
    for place in leaving:
        if place < len(members) and len(members) > 1:
            members.pop(place).cancel()
            assert search.deadline == max(one.deadline for one in members)
            assert not search.is_cancelled
    search.future.set_running_or_notify_cancel()
    search.future.set_exception(DeadlineExceeded("dropped before its deadline was put off"))
    again = queued[1]  # none of them is late yet: they are searched for again, together
    assert again.deadline == max(one.deadline for one in members)
    assert not any(one.future.done() for one in members)


def test_a_search_that_was_dropped_as_late_goes_on_for_who_came_meanwhile(load: LoadBackend) -> None:
    asked = Asked(load)
    first = SentenceRequest(SOURCE, OPTIONS)
    asked.ask(first)
    [search] = asked.engine.waiting.take(1, 100)[0]
    search.future.set_exception(DeadlineExceeded("too late"))  # decided before its deadline was put off
    asked.engine.waiting.leave()
    asked.run()
    assert first.future.result(timeout=0).hypotheses
    assert asked.decoded == 2


def test_all_are_late(load: LoadBackend) -> None:
    asked = Asked(load)
    late = [SentenceRequest(SOURCE, dataclasses.replace(OPTIONS, deadline=time.monotonic() - 1)) for _ in range(2)]
    asked.ask(*late)
    asked.run()
    assert all(isinstance(one.future.exception(timeout=0), DeadlineExceeded) for one in late)


def test_an_error_is_told_to_all_and_not_kept(load: LoadBackend) -> None:
    asked = Asked(load)
    requests = [SentenceRequest(SOURCE, OPTIONS) for _ in range(2)]
    asked.ask(*requests)
    asked.step()
    asked.engine.fail(RuntimeError("the graph broke"))
    assert [str(one.future.exception(timeout=0)) for one in requests] == ["the graph broke"] * 2
    again = SentenceRequest(SOURCE, OPTIONS)
    asked.ask(again)
    asked.run()
    assert again.future.result(timeout=0).hypotheses


def test_nothing_is_queued_where_there_is_no_room(load: LoadBackend) -> None:
    asked = Asked(load, max_waiting=1)
    known = SentenceRequest(SOURCE, OPTIONS)
    asked.ask(known)
    asked.run()
    requests = [SentenceRequest(source, OPTIONS) for source in (SOURCE, (9, 3), (10, 3))]
    with pytest.raises(Overloaded):
        asked.ask(*requests)
    assert not any(request.future.done() for request in requests)
    asked.ask(*requests[:2])
    asked.run()
    assert len(results(requests[:2])) == 2


def test_who_joins_does_not_wait_in_the_line_of_the_other(load: LoadBackend) -> None:
    """A document brought the sentence as its last; somebody who asks for it alone has it in their own turn."""
    asked = Asked(load, slots=1)
    document = [SentenceRequest((*range(10 + at, 20 + at), 3), OPTIONS, owner="document") for at in range(40)]
    asked.ask(*document)
    alone = SentenceRequest(document[-1].source_ids, OPTIONS, owner="short")
    asked.ask(alone)
    while not alone.future.done():
        asked.step()
    assert sum(one.future.done() for one in document) < 20
    asked.run()
    assert asked.decoded == len(document)
    assert all(one.hypotheses for one in results(document))
    assert len(asked.engine.waiting) == 0


def test_a_shut_down_answers_everybody_once(load: LoadBackend) -> None:
    asked = Asked(load)
    requests = [SentenceRequest(SOURCE, OPTIONS, owner=owner) for owner in "ab"]
    asked.ask(requests[0])
    asked.ask(requests[1])
    for left in asked.engine.waiting.empty():
        left.refuse(RuntimeError("stopped"))
    assert [str(one.future.exception(timeout=0)) for one in requests] == ["stopped"] * 2


def test_a_key_is_everything_but_the_deadline(load: LoadBackend) -> None:
    request = SentenceRequest(SOURCE, OPTIONS)
    assert key_of(request) == key_of(SentenceRequest(SOURCE, dataclasses.replace(OPTIONS, deadline=5.0), owner=1))
    others = [
        dataclasses.replace(OPTIONS, beam_size=3),
        dataclasses.replace(OPTIONS, num_hypotheses=2),
        dataclasses.replace(OPTIONS, length_penalty=0.5),
        dataclasses.replace(OPTIONS, max_length=7),
        dataclasses.replace(OPTIONS, follows_source=True),
    ]
    assert len(others) + 1 == len(dataclasses.fields(SearchOptions))
    keys = {key_of(SentenceRequest(SOURCE, one)) for one in others}
    assert len(keys | {key_of(request)}) == len(others) + 1
    assert key_of(SentenceRequest((5, 6, 3), OPTIONS)) != key_of(request)
    assert key_of(SentenceRequest(SOURCE, OPTIONS, targets=((5, 3),))) is None


def test_a_context_counts_only_where_its_content_is_known() -> None:
    states = {"sentence": np.ones(4, np.float16), "words": np.ones((2, 4), np.float16)}
    unknown = all_of([states], [2])
    assert unknown is not None
    known = [SentenceContext(unknown.stored, unknown.distance, key) for key in (b"a", b"b")]
    keys = [key_of(SentenceRequest(SOURCE, OPTIONS, context)) for context in (*known, unknown, None)]
    assert keys[2] is None
    assert None not in (keys[0], keys[1], keys[3])
    assert len(set(keys)) == 4


def test_a_result_comes_back_as_it_was() -> None:
    use = ContextUse(np.array([[0.25, 0.75]], np.float32), 0.5)
    result = SentenceResult(
        (Hypothesis((7, 300), -1.25, -0.4, "eos"), Hypothesis((), -3.0, -3.0, "length")), Timings(1, 2, 3), use
    )
    back = unpacked(packed(result))
    assert back.hypotheses == result.hypotheses
    assert back.timings == Timings(0, 0, 0)
    assert back.context is not None
    assert back.context.gate == 0.5
    assert np.array_equal(back.context.weights, use.weights)


def test_an_answered_request_is_freed_at_once(load: LoadBackend) -> None:
    """Without the garbage collector: requests hold what their sentences see of a document, which is large."""
    asked = Asked(load)
    gc.disable()
    try:
        requests = [SentenceRequest(SOURCE, OPTIONS), SentenceRequest(SOURCE, OPTIONS)]
        freed = [weakref.ref(request) for request in requests]
        asked.ask(*requests)
        freed += [weakref.ref(search) for search in asked.searches._searches.values()]
        asked.run()
        assert len(results(requests)) == 2
        requests.clear()
        assert len(freed) == 3
        assert [one() for one in freed] == [None] * 3
    finally:
        gc.enable()

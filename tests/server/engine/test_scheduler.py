"""The queue in front of the engine."""

import contextlib
import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.engine.request import Cancelled, DeadlineExceeded, Overloaded, SearchOptions, SentenceRequest, SideTask
from server.engine.scheduler import RequestQueue
from server.scheduling.caller import Caller, Service
from server.scheduling.fair_queue import QUANTUM


def sentence(length: int = 2, deadline: float | None = None) -> SentenceRequest:
    return SentenceRequest((7,) * (length - 1) + (3,), SearchOptions(deadline=deadline))


@settings(deadline=None)
@given(lengths=st.lists(st.integers(1, 30), max_size=30), count=st.integers(1, 10), max_tokens=st.integers(1, 100))
def test_the_oldest_leave_first_within_the_budget(lengths: list[int], count: int, max_tokens: int) -> None:
    queue, requests = RequestQueue(100), [sentence(length) for length in lengths]
    queue.put(requests)
    left = list(requests)
    while left:
        taken, aborted = queue.take(count, max_tokens)
        assert not aborted
        assert taken == left[: len(taken)]
        assert 1 <= len(taken) <= count
        widest = max(len(request.source_ids) for request in taken)
        assert len(taken) == 1 or widest * len(taken) <= max_tokens
        del left[: len(taken)]
    assert len(queue) == 0
    assert queue.in_flight == len(requests)


@settings(deadline=None)
@given(waiting=st.integers(0, 20), in_flight=st.integers(0, 20), workers=st.integers(1, 4))
def test_fair_shares_cover_every_sentence(waiting: int, in_flight: int, workers: int) -> None:
    queue = RequestQueue(100)
    queue.put([sentence() for _ in range(waiting)])
    queue.in_flight = in_flight
    share = queue.fair_share(workers)
    assert share * workers >= waiting + in_flight > (share - 1) * workers or share == 0


def test_all_or_nothing() -> None:
    queue = RequestQueue(3)
    queue.put([sentence(), sentence()])
    with pytest.raises(Overloaded, match="at most 3"):
        queue.put([sentence(), sentence()])
    assert len(queue) == 2


def test_a_sentence_in_several_flows_counts_once_and_is_taken_once() -> None:
    queue, shared = RequestQueue(2, 6), sentence(3)
    queue.put([shared])
    queue.requeue(shared, ("", Service.INTERACTIVE, "another"))
    queue.requeue(shared, ("", Service.INTERACTIVE, "a third"))
    assert (len(queue), queue.waiting_tokens) == (1, 3)
    other = sentence(3)
    queue.put([other])  # duplicates do not count
    assert queue.take(5, 100) == ([shared, other], [])
    queue.requeue(shared, ("", Service.INTERACTIVE, "too late"))
    assert (len(queue), queue.waiting_tokens, queue.in_flight) == (0, 0, 2)
    assert queue.is_drained is False
    queue.put([sentence(3), sentence(3)])
    assert queue.take(5, 100)[1] == []


def test_a_coalesced_sentence_is_taken_through_the_flow_whose_turn_comes_first() -> None:
    queue = RequestQueue(99)
    book = [SentenceRequest((7,) * QUANTUM, SearchOptions(), owner="book") for _ in range(4)]
    text = sentence()
    queue.put([*book, text])
    queue.requeue(book[3], (*text.flow[:2], "the text's"))
    taken, _ = queue.take(9, 9999)
    assert taken == [book[0], text, book[3], book[1], book[2]]


callers = st.builds(Caller, st.sampled_from(["", "a", "b", "c"]), st.sampled_from(Service))
amounts = st.tuples(callers, st.integers(1, 9), st.integers(1, 4))
"""A caller, how many sentences it submits, and how many sentences are taken from the queue after that."""


@settings(deadline=None)
@given(steps=st.lists(amounts, max_size=30), limit=st.integers(1, 30))
def test_the_limit_of_waiting_sentences_equals_a_slow_count(steps: list[tuple[Caller, int, int]], limit: int) -> None:
    """Background work is always accepted and does not count; interactive sentences of a tenant wait up to its limit."""
    queue, waiting = RequestQueue(limit), list[SentenceRequest]()
    for caller, count, leaving in steps:
        new = [SentenceRequest((5, 3), SearchOptions(), caller=caller) for _ in range(count)]
        interactive = [request for request in waiting if request.caller.service is Service.INTERACTIVE]
        held = sum(request.caller.tenant == caller.tenant for request in interactive)
        free = 2 * limit - len(interactive) - count
        is_accepted = free >= 0 and held + count <= max(1, free)
        try:
            queue.put(new)
            waiting += new
            assert is_accepted or caller.service is Service.BACKGROUND
        except Overloaded:
            assert not is_accepted
            assert caller.service is Service.INTERACTIVE
        assert len(queue) == len(waiting)
        for _ in range(leaving):
            taken, _ = queue.take(1, 99)
            waiting = [request for request in waiting if request not in taken]
        assert len(queue) == len(waiting)


@settings(deadline=None)
@given(greedy=st.lists(st.integers(1, 100), max_size=20))
def test_one_tenant_leaves_capacity_for_another(greedy: list[int]) -> None:
    queue = RequestQueue(64, 10**6)
    for count in greedy:
        for service in Service:
            with contextlib.suppress(Overloaded):
                queue.put([SentenceRequest((5, 3), SearchOptions(), caller=Caller("a", service)) for _ in range(count)])
    queue.put([SentenceRequest((5, 3), SearchOptions(), caller=Caller("b")) for _ in range(32)])


def test_tokens_are_limited_as_sentences_but_one_request_of_each_tenant_is_accepted() -> None:
    queue, a, b = RequestQueue(100, max_tokens=20), Caller("a"), Caller("b")

    def put(caller: Caller, length: int) -> None:
        queue.put([SentenceRequest((7,) * length, SearchOptions(), caller=caller)])

    put(a, 30)
    with pytest.raises(Overloaded):
        put(a, 1)
    put(b, 30)
    with pytest.raises(Overloaded):
        put(b, 1)
    put(Caller("a", Service.BACKGROUND), 1000)


def test_a_text_is_served_before_many_documents_of_another_tenant() -> None:
    queue = RequestQueue(99)
    crowd = Caller("a", Service.BACKGROUND)
    for document in range(100):
        queue.put([SentenceRequest((7,) * QUANTUM, SearchOptions(), owner=document, caller=crowd) for _ in range(3)])
    text = [SentenceRequest((7,) * QUANTUM, SearchOptions(), owner="text", caller=Caller("b")) for _ in range(5)]
    queue.put(text)
    taken, _ = queue.take(10, 99_999)
    assert [request in text for request in taken] == [False, True] * 5


def side_task(caller: Caller) -> SideTask[None]:
    return SideTask(lambda backend: None, 1, caller=caller)


def test_side_tasks_are_limited_for_each_tenant_and_background_does_not_count() -> None:
    queue = RequestQueue(2)
    for _ in range(9):
        queue.put_side_task(side_task(Caller("a", Service.BACKGROUND)))
    queue.put_side_task(side_task(Caller("a")))
    queue.put_side_task(side_task(Caller("a")))
    with pytest.raises(Overloaded):
        queue.put_side_task(side_task(Caller("a")))
    queue.put_side_task(side_task(Caller("b")))
    while queue.take_side_task() is not None:
        pass
    queue.put_side_task(side_task(Caller("a")))
    queue.clear()
    queue.put_side_task(side_task(Caller("a")))
    queue.put_side_task(side_task(Caller("a")))


@settings(deadline=None)
@given(
    costs=st.dictionaries(
        st.sampled_from("abc"), st.lists(st.integers(1, 200), min_size=1, max_size=12), min_size=1, max_size=3
    ),
    service=st.sampled_from(Service),
)
def test_side_tasks_of_owners_take_turns_by_their_cost(costs: dict[str, list[int]], service: Service) -> None:
    """In the same order as sentences of the same lengths: both wait in a FairQueue."""
    side_tasks, sentences = RequestQueue(999), RequestQueue(999)
    caller = Caller("", service)
    expected, actual = list[tuple[str, int]](), list[tuple[str, int]]()
    names: dict[SideTask[None], tuple[str, int]] = {}
    for owner, sizes in costs.items():
        for number, cost in enumerate(sizes):
            task = SideTask(lambda backend: None, cost, owner, caller)
            names[task] = (owner, number)
            side_tasks.put_side_task(task)
        sentences.put([SentenceRequest((7,) * cost, SearchOptions(), owner=owner, caller=caller) for cost in sizes])
    numbers = {owner: iter(range(len(sizes))) for owner, sizes in costs.items()}
    for request in sentences.take(999, 10**9)[0]:
        expected.append((str(request.owner), next(numbers[str(request.owner)])))
    while (side_task := side_tasks.take_side_task()) is not None:
        actual.append(names[side_task])
    assert actual == expected


def test_a_sentence_taken_through_another_flow_is_charged_to_that_flow() -> None:
    """A flow that joined a long sentence, and received it in its own turn, then waits as after a long sentence."""
    queue = RequestQueue(99)
    first = [SentenceRequest((7,) * length, SearchOptions(), owner="first") for length in (5 * QUANTUM, 3 * QUANTUM)]
    joining = SentenceRequest((7, 3), SearchOptions(), owner="joins")
    others = [SentenceRequest((7,) * QUANTUM, SearchOptions(), owner="another") for _ in range(6)]
    queue.put(first)
    queue.requeue(first[1], joining.flow)
    queue.put([joining])
    queue.put(others)
    taken = queue.take(99, 10**6)[0]
    assert taken[:2] == first
    assert taken.index(joining) == 5, "three turns of another flow pass before the debt is paid"


@pytest.mark.parametrize("is_side_task", [False, True])
def test_interactive_work_of_a_tenant_has_four_turns_to_one_of_its_background_work(is_side_task: bool) -> None:
    queue = RequestQueue(10_000)
    for service in Service:
        caller = Caller("a", service)
        for number in range(200):
            if is_side_task:
                queue.put_side_task(SideTask(lambda backend: None, QUANTUM, (service, number % 3), caller))
            else:
                queue.put([SentenceRequest((7,) * QUANTUM, SearchOptions(), owner=number % 3, caller=caller)])
    services = Counter[Service]()
    for _ in range(100):
        taken = queue.take_side_task() if is_side_task else queue.take(1, QUANTUM)[0][0]
        assert taken is not None
        services[taken.caller.service] += 1
    assert services == {Service.INTERACTIVE: 80, Service.BACKGROUND: 20}


def test_duplicates_in_flows_are_limited_as_sentences_are() -> None:
    queue = RequestQueue(3)
    shared = sentence()
    queue.put([shared])
    for number in range(50):
        queue.requeue(shared, ("", Service.INTERACTIVE, number))
    assert len(queue) == 1
    assert len(queue._requests) == 1 + 3
    assert queue.take(9, 99)[0] == [shared]
    assert (len(queue), len(queue._requests)) == (0, 0)


def test_cancelled_and_expired_sentences_are_aborted_when_others_are_taken() -> None:
    queue = RequestQueue(9)
    cancelled, expired, good = sentence(), sentence(deadline=time.monotonic() - 1), sentence()
    queue.put([cancelled, expired, good])
    cancelled.cancel()
    taken, aborted = queue.take(1, 100)
    assert taken == [good]
    assert aborted == [cancelled, expired]
    assert isinstance(cancelled.future.exception(timeout=0), Cancelled)
    assert isinstance(expired.future.exception(timeout=0), DeadlineExceeded)


def test_a_queued_future_cannot_be_cancelled_directly() -> None:
    queue, request = RequestQueue(9), sentence()
    queue.put([request])
    assert not request.future.cancel()


def test_owners_take_turns() -> None:
    queue = RequestQueue(99)
    document = [SentenceRequest((7,) * (QUANTUM - 1) + (3,), SearchOptions(), owner="document") for _ in range(3)]
    short = [SentenceRequest((7, 3), SearchOptions(), owner="short") for _ in range(2)]
    queue.put([*document, *short])
    taken, _ = queue.take(9, 9999)
    assert taken == [document[0], *short, *document[1:]]


def test_cancelled_sentences_do_not_cost_their_owner_a_turn() -> None:
    queue = RequestQueue(99)
    cancelled = [SentenceRequest((7,) * QUANTUM, SearchOptions(), owner="document") for _ in range(3)]
    good, other = sentence(2), sentence(2)
    good.owner = "document"
    queue.put([*cancelled, good, other])
    for request in cancelled:
        request.cancel()
    taken, aborted = queue.take(9, 9999)
    assert (taken, aborted) == ([good, other], cancelled)


def test_waiting_sentences_are_limited_by_their_tokens() -> None:
    queue = RequestQueue(100, max_tokens=20)
    queue.put([sentence(30)])  # accepted because nothing else waits
    with pytest.raises(Overloaded, match="30 source tokens wait already, at most 20 may"):
        queue.put([sentence(1)])
    queue.take(1, 100)
    queue.put([sentence(10), sentence(9)])
    assert queue.waiting_tokens == 19
    with pytest.raises(Overloaded):
        queue.put([sentence(2)])
    queue.put([sentence(1)])
    cancelled = queue.take(1, 100)[0]
    assert queue.waiting_tokens == 20 - len(cancelled[0].source_ids)


@settings(deadline=None)
@given(lengths=st.lists(st.integers(1, 30), max_size=30), cancelled=st.sets(st.integers(0, 29)))
def test_waiting_tokens_equal_the_tokens_of_waiting_sentences(lengths: list[int], cancelled: set[int]) -> None:
    queue, requests = RequestQueue(100), [sentence(length) for length in lengths]
    queue.put(requests)
    for index in cancelled & set(range(len(requests))):
        requests[index].cancel()
    left = list(requests)
    while left:
        taken, aborted = queue.take(3, 40)
        left = [request for request in left if request not in taken and request not in aborted]
        assert queue.waiting_tokens == sum(len(request.source_ids) for request in left)
    queue.put([sentence(5)])
    queue.clear()
    assert queue.waiting_tokens == 0

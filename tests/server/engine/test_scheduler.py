"""The waiting room."""

import contextlib
import time
from collections import Counter
from functools import partial

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
    room, requests = RequestQueue(100), [sentence(length) for length in lengths]
    room.put(requests)
    left = list(requests)
    while left:
        taken, dropped = room.take(count, max_tokens)
        assert not dropped
        assert taken == left[: len(taken)]
        assert 1 <= len(taken) <= count
        widest = max(len(request.source_ids) for request in taken)
        assert len(taken) == 1 or widest * len(taken) <= max_tokens
        del left[: len(taken)]
    assert len(room) == 0
    assert room.in_flight == len(requests)


@settings(deadline=None)
@given(waiting=st.integers(0, 20), in_flight=st.integers(0, 20), workers=st.integers(1, 4))
def test_fair_shares_seat_everybody(waiting: int, in_flight: int, workers: int) -> None:
    room = RequestQueue(100)
    room.put([sentence() for _ in range(waiting)])
    room.in_flight = in_flight
    share = room.fair_share(workers)
    assert share * workers >= waiting + in_flight > (share - 1) * workers or share == 0


def test_all_or_nothing() -> None:
    room = RequestQueue(3)
    room.put([sentence(), sentence()])
    with pytest.raises(Overloaded, match="at most 3"):
        room.put([sentence(), sentence()])
    assert len(room) == 2


def test_who_waits_in_several_lines_counts_once_and_leaves_once() -> None:
    room, shared = RequestQueue(2, 6), sentence(3)
    room.put([shared])
    room.requeue(shared, ("", Service.INTERACTIVE, "another"))
    room.requeue(shared, ("", Service.INTERACTIVE, "a third"))
    assert (len(room), room.waiting_tokens) == (1, 3)
    other = sentence(3)
    room.put([other])  # the copies take no room from others
    assert room.take(5, 100) == ([shared, other], [])
    room.requeue(shared, ("", Service.INTERACTIVE, "too late"))
    assert (len(room), room.waiting_tokens, room.in_flight) == (0, 0, 2)
    assert room.is_done is False
    room.put([sentence(3), sentence(3)])
    assert room.take(5, 100)[1] == []


def test_a_shared_sentence_is_taken_by_the_line_whose_turn_comes_first() -> None:
    room = RequestQueue(99)
    book = [SentenceRequest((7,) * QUANTUM, SearchOptions(), owner="book") for _ in range(4)]
    text = sentence()
    room.put([*book, text])
    room.requeue(book[3], (*text.line[:2], "the text's"))
    taken, _ = room.take(9, 9999)
    assert taken == [book[0], text, book[3], book[1], book[2]]


caller = st.builds(Caller, st.sampled_from(["", "a", "b", "c"]), st.sampled_from(Service))
amounts = st.tuples(caller, st.integers(1, 9), st.integers(1, 4))
"""A caller, how many sentences it sends, and how many of the room are taken after that."""


@settings(deadline=None)
@given(steps=st.lists(amounts, max_size=30), limit=st.integers(1, 30))
def test_what_may_wait_is_what_a_slow_count_says(steps: list[tuple[Caller, int, int]], limit: int) -> None:
    """Background work is always let in and changes nothing for others; of one key no more interactive sentences wait
    than it leaves free."""
    room, waiting = RequestQueue(limit), list[SentenceRequest]()
    for who, count, leaving in steps:
        new = [SentenceRequest((5, 3), SearchOptions(), caller=who) for _ in range(count)]
        interactive = [one for one in waiting if one.caller.service is Service.INTERACTIVE]
        own = sum(one.caller.tenant == who.tenant for one in interactive)
        free = 2 * limit - len(interactive) - count
        may = free >= 0 and own + count <= max(1, free)
        try:
            room.put(new)
            waiting += new
            assert may or who.service is Service.BACKGROUND
        except Overloaded:
            assert not may
            assert who.service is Service.INTERACTIVE
        assert len(room) == len(waiting)
        for _ in range(leaving):
            gone, _ = room.take(1, 99)
            waiting = [one for one in waiting if one not in gone]
        assert len(room) == len(waiting)


@settings(deadline=None)
@given(greedy=st.lists(st.integers(1, 100), max_size=20))
def test_whatever_one_key_and_its_documents_ask_for_there_is_room_for_another(greedy: list[int]) -> None:
    room = RequestQueue(64, 10**6)
    for count in greedy:
        for service in Service:
            with contextlib.suppress(Overloaded):
                room.put([SentenceRequest((5, 3), SearchOptions(), caller=Caller("a", service)) for _ in range(count)])
    room.put([SentenceRequest((5, 3), SearchOptions(), caller=Caller("b")) for _ in range(32)])


def test_tokens_are_shared_like_sentences_but_one_request_of_each_key_is_let_in() -> None:
    room, a, b = RequestQueue(100, max_tokens=20), Caller("a"), Caller("b")

    def put(who: Caller, length: int) -> None:
        room.put([SentenceRequest((7,) * length, SearchOptions(), caller=who)])

    put(a, 30)
    with pytest.raises(Overloaded):
        put(a, 1)
    put(b, 30)
    with pytest.raises(Overloaded):
        put(b, 1)
    put(Caller("a", Service.BACKGROUND), 1000)


def test_a_text_is_served_before_a_crowd_of_another_keys_documents() -> None:
    room = RequestQueue(99)
    crowd = Caller("a", Service.BACKGROUND)
    for document in range(100):
        room.put([SentenceRequest((7,) * QUANTUM, SearchOptions(), owner=document, caller=crowd) for _ in range(3)])
    text = [SentenceRequest((7,) * QUANTUM, SearchOptions(), owner="text", caller=Caller("b")) for _ in range(5)]
    room.put(text)
    taken, _ = room.take(10, 99_999)
    assert [one in text for one in taken] == [False, True] * 5


def side_task(who: Caller) -> SideTask[None]:
    return SideTask(lambda: None, 1, caller=who)


def test_errands_are_bounded_for_each_key_and_background_does_not_count() -> None:
    room = RequestQueue(2)
    for _ in range(9):
        room.put_side_task(side_task(Caller("a", Service.BACKGROUND)))
    room.put_side_task(side_task(Caller("a")))
    room.put_side_task(side_task(Caller("a")))
    with pytest.raises(Overloaded):
        room.put_side_task(side_task(Caller("a")))
    room.put_side_task(side_task(Caller("b")))
    while room.take_side_task() is not None:
        pass
    room.put_side_task(side_task(Caller("a")))
    room.empty()
    room.put_side_task(side_task(Caller("a")))
    room.put_side_task(side_task(Caller("a")))


@settings(deadline=None)
@given(
    costs=st.dictionaries(
        st.sampled_from("abc"), st.lists(st.integers(1, 200), min_size=1, max_size=12), min_size=1, max_size=3
    ),
    service=st.sampled_from(Service),
)
def test_errands_of_owners_take_turns_by_what_they_cost(costs: dict[str, list[int]], service: Service) -> None:
    """As sentences of the same lengths do: both wait in `Lines`, which a slow twin holds."""
    errands, sentences = RequestQueue(999), RequestQueue(999)
    who = Caller("", service)
    expected, found = list[tuple[str, int]](), list[tuple[str, int]]()
    for owner, sizes in costs.items():
        for number, cost in enumerate(sizes):
            errands.put_side_task(SideTask(partial(found.append, (owner, number)), cost, owner, who))
        sentences.put([SentenceRequest((7,) * cost, SearchOptions(), owner=owner, caller=who) for cost in sizes])
    numbers = {owner: iter(range(len(sizes))) for owner, sizes in costs.items()}
    for request in sentences.take(999, 10**9)[0]:
        expected.append((str(request.owner), next(numbers[str(request.owner)])))
    while (side_task := errands.take_side_task()) is not None:
        side_task.do()
    assert found == expected


def test_a_copy_in_another_line_costs_that_line_what_the_sentence_costs() -> None:
    """Who joins a long sentence, and has it in a turn of its own, waits before its next one as for a long sentence."""
    room = RequestQueue(99)
    first = [SentenceRequest((7,) * length, SearchOptions(), owner="first") for length in (5 * QUANTUM, 3 * QUANTUM)]
    mine = SentenceRequest((7, 3), SearchOptions(), owner="joins")
    others = [SentenceRequest((7,) * QUANTUM, SearchOptions(), owner="another") for _ in range(6)]
    room.put(first)
    room.requeue(first[1], mine.line)
    room.put([mine])
    room.put(others)
    taken = room.take(99, 10**6)[0]
    assert taken[:2] == first
    assert taken.index(mine) == 5, "three turns of another line pass before the debt is paid"


@pytest.mark.parametrize("is_errand", [False, True])
def test_interactive_work_of_a_tenant_has_four_turns_to_one_of_its_background_work(is_errand: bool) -> None:
    room = RequestQueue(10_000)
    for service in Service:
        who = Caller("a", service)
        for number in range(200):
            if is_errand:
                room.put_side_task(SideTask(lambda: None, QUANTUM, (service, number % 3), who))
            else:
                room.put([SentenceRequest((7,) * QUANTUM, SearchOptions(), owner=number % 3, caller=who)])
    services = Counter[Service]()
    for _ in range(100):
        taken = room.take_side_task() if is_errand else room.take(1, QUANTUM)[0][0]
        assert taken is not None
        services[taken.caller.service] += 1
    assert services == {Service.INTERACTIVE: 80, Service.BACKGROUND: 20}


def test_so_many_copies_may_wait_as_sentences() -> None:
    room = RequestQueue(3)
    shared = sentence()
    room.put([shared])
    for number in range(50):
        room.requeue(shared, ("", Service.INTERACTIVE, number))
    assert len(room) == 1
    assert len(room._waiting) == 1 + 3
    assert room.take(9, 99)[0] == [shared]
    assert (len(room), len(room._waiting)) == (0, 0)


def test_cancelled_and_late_sentences_leave_on_the_way() -> None:
    room = RequestQueue(9)
    gone, late, good = sentence(), sentence(deadline=time.monotonic() - 1), sentence()
    room.put([gone, late, good])
    gone.cancel()
    taken, dropped = room.take(1, 100)
    assert taken == [good]
    assert dropped == [gone, late]
    assert isinstance(gone.future.exception(timeout=0), Cancelled)
    assert isinstance(late.future.exception(timeout=0), DeadlineExceeded)


def test_a_queued_future_cannot_be_cancelled_behind_the_engines_back() -> None:
    room, request = RequestQueue(9), sentence()
    room.put([request])
    assert not request.future.cancel()


def test_owners_take_turns() -> None:
    room = RequestQueue(99)
    document = [SentenceRequest((7,) * (QUANTUM - 1) + (3,), SearchOptions(), owner="document") for _ in range(3)]
    short = [SentenceRequest((7, 3), SearchOptions(), owner="short") for _ in range(2)]
    room.put([*document, *short])
    taken, _ = room.take(9, 9999)
    assert taken == [document[0], *short, *document[1:]]


def test_cancelled_sentences_do_not_cost_their_owner_a_turn() -> None:
    room = RequestQueue(99)
    gone = [SentenceRequest((7,) * QUANTUM, SearchOptions(), owner="document") for _ in range(3)]
    good, other = sentence(2), sentence(2)
    good.owner = "document"
    room.put([*gone, good, other])
    for request in gone:
        request.cancel()
    taken, dropped = room.take(9, 9999)
    assert (taken, dropped) == ([good, other], gone)


def test_what_waits_is_bounded_by_its_tokens() -> None:
    room = RequestQueue(100, max_tokens=20)
    room.put([sentence(30)])  # alone it is let in: it would never be otherwise
    with pytest.raises(Overloaded, match="30 source tokens wait already, at most 20 may"):
        room.put([sentence(1)])
    room.take(1, 100)
    room.put([sentence(10), sentence(9)])
    assert room.waiting_tokens == 19
    with pytest.raises(Overloaded):
        room.put([sentence(2)])
    room.put([sentence(1)])
    gone = room.take(1, 100)[0]
    assert room.waiting_tokens == 20 - len(gone[0].source_ids)


@settings(deadline=None)
@given(lengths=st.lists(st.integers(1, 30), max_size=30), cancelled=st.sets(st.integers(0, 29)))
def test_tokens_that_wait_are_those_of_the_sentences_that_wait(lengths: list[int], cancelled: set[int]) -> None:
    room, requests = RequestQueue(100), [sentence(length) for length in lengths]
    room.put(requests)
    for index in cancelled & set(range(len(requests))):
        requests[index].cancel()
    left = list(requests)
    while left:
        taken, dropped = room.take(3, 40)
        left = [one for one in left if one not in taken and one not in dropped]
        assert room.waiting_tokens == sum(len(one.source_ids) for one in left)
    room.put([sentence(5)])
    room.empty()
    assert room.waiting_tokens == 0

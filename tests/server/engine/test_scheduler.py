"""The waiting room."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.engine.lines import QUANTUM
from server.engine.request import Cancelled, DeadlineExceeded, Overloaded, SearchOptions, SentenceRequest
from server.engine.scheduler import WaitingRoom


def sentence(length: int = 2, deadline: float | None = None) -> SentenceRequest:
    return SentenceRequest((7,) * (length - 1) + (3,), SearchOptions(deadline=deadline))


@given(lengths=st.lists(st.integers(1, 30), max_size=30), count=st.integers(1, 10), max_tokens=st.integers(1, 100))
def test_the_oldest_leave_first_within_the_budget(lengths: list[int], count: int, max_tokens: int) -> None:
    room, requests = WaitingRoom(100), [sentence(length) for length in lengths]
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


@given(waiting=st.integers(0, 20), in_flight=st.integers(0, 20), workers=st.integers(1, 4))
def test_fair_shares_seat_everybody(waiting: int, in_flight: int, workers: int) -> None:
    room = WaitingRoom(100)
    room.put([sentence() for _ in range(waiting)])
    room.in_flight = in_flight
    share = room.fair_share(workers)
    assert share * workers >= waiting + in_flight > (share - 1) * workers or share == 0


def test_all_or_nothing() -> None:
    room = WaitingRoom(3)
    room.put([sentence(), sentence()])
    with pytest.raises(Overloaded, match="at most 3"):
        room.put([sentence(), sentence()])
    assert len(room) == 2


def test_who_waits_in_a_second_line_takes_room_and_leaves_once() -> None:
    room, shared = WaitingRoom(2), sentence()
    room.put([shared])
    room.put_again(shared, "another")
    room.put_again(shared, "a third")
    assert len(room) == 2
    assert room.take(5, 100) == ([shared], [])
    room.put_again(shared, "too late")
    assert (len(room), room.in_flight) == (0, 1)


def test_cancelled_and_late_sentences_leave_on_the_way() -> None:
    room = WaitingRoom(9)
    gone, late, good = sentence(), sentence(deadline=time.monotonic() - 1), sentence()
    room.put([gone, late, good])
    gone.cancel()
    taken, dropped = room.take(1, 100)
    assert taken == [good]
    assert dropped == [gone, late]
    assert isinstance(gone.future.exception(timeout=0), Cancelled)
    assert isinstance(late.future.exception(timeout=0), DeadlineExceeded)


def test_a_queued_future_cannot_be_cancelled_behind_the_engines_back() -> None:
    room, request = WaitingRoom(9), sentence()
    room.put([request])
    assert not request.future.cancel()


def test_owners_take_turns() -> None:
    room = WaitingRoom(99)
    document = [SentenceRequest((7,) * (QUANTUM - 1) + (3,), SearchOptions(), owner="document") for _ in range(3)]
    short = [SentenceRequest((7, 3), SearchOptions(), owner="short") for _ in range(2)]
    room.put([*document, *short])
    taken, _ = room.take(9, 9999)
    assert taken == [document[0], *short, *document[1:]]


def test_cancelled_sentences_do_not_cost_their_owner_a_turn() -> None:
    room = WaitingRoom(99)
    gone = [SentenceRequest((7,) * QUANTUM, SearchOptions(), owner="document") for _ in range(3)]
    good, other = sentence(2), sentence(2)
    good.owner = "document"
    room.put([*gone, good, other])
    for request in gone:
        request.cancel()
    taken, dropped = room.take(9, 9999)
    assert (taken, dropped) == ([good, other], gone)


def test_what_waits_is_bounded_by_its_tokens() -> None:
    room = WaitingRoom(100, max_tokens=20)
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


@given(lengths=st.lists(st.integers(1, 30), max_size=30), cancelled=st.sets(st.integers(0, 29)))
def test_tokens_that_wait_are_those_of_the_sentences_that_wait(lengths: list[int], cancelled: set[int]) -> None:
    room, requests = WaitingRoom(100), [sentence(length) for length in lengths]
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

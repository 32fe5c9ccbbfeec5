"""Room for files, and what is kept of them."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.api.requests.errors import ApiError
from server.api.serving.finished_files import FileReservation, FinishedFile, FinishedFiles
from server.scheduling.shared_budget import SharedBudget

HOUR = 3600.0


def finished(size: int) -> FinishedFile:
    return FinishedFile(b"x" * size, "a.txt", "text/plain")


class SlowFiles:
    """The documented behaviour of `FinishedFiles`, with lists that are counted anew each time."""

    def __init__(self, max_files: int, max_bytes: int) -> None:
        self.limits = (max_files, max_bytes)
        self.rooms: list[tuple[FileReservation, str, int]] = []
        self.done: list[FileReservation] = []
        """In the order in which they were finished."""

    def fits(self, owner: str, size: int, without: Sequence[FileReservation]) -> bool:
        left = [(whose, bytes_) for room, whose, bytes_ in self.rooms if room not in without]
        for limit, amount, own, total in (
            (self.limits[0], 1, sum(who == owner for who, _ in left), len(left)),
            (self.limits[1], size, sum(b for who, b in left if who == owner), sum(b for _, b in left)),
        ):
            budget = SharedBudget(limit)
            budget.acquire(owner, own)
            budget.acquire("everybody else", total - own)
            if not budget.fits(owner, amount):
                return False
        return True

    def may(self, owner: str, size: int) -> bool:
        """Whether a file is let in; those leave that make room for it."""
        own = [room for room in self.done if any(item is room and who == owner for item, who, _ in self.rooms)]
        for count in range(len(own) + 1):
            if self.fits(owner, size, own[:count]):
                self.rooms = [item for item in self.rooms if item[0] not in own[:count]]
                self.done = [item for item in self.done if item not in own[:count]]
                return True
        return False


actions = st.one_of(
    st.tuples(st.just("admit"), st.sampled_from(["", "a", "b", "c"]), st.integers(1, 12)),
    st.tuples(st.just("finish"), st.integers(0, 20), st.integers(0, 30)),
    st.tuples(st.just("fail"), st.integers(0, 20), st.just(0)),
    st.tuples(st.just("fetch"), st.integers(0, 20), st.just(0)),
)


@settings(deadline=None)
@given(actions=st.lists(actions, max_size=40), max_files=st.integers(1, 12), max_bytes=st.integers(24, 60))
def test_files_come_and_go_as_the_slow_reference_says(
    actions: list[tuple[str, str | int, int]], max_files: int, max_bytes: int
) -> None:
    async def run() -> None:
        files, slow = FinishedFiles(max_files, max_bytes, HOUR), SlowFiles(max_files, max_bytes)
        for action, whose, size in actions:
            if action == "admit":
                owner = str(whose)
                if slow.may(owner, size):
                    slow.rooms.append((files.admit(owner, size), owner, size))
                else:
                    with pytest.raises(ApiError, match="too many files") as refused:
                        files.admit(owner, size)
                    assert refused.value.kind == "overloaded"
                    assert int(refused.value.headers["Retry-After"]) > 0
            elif slow.rooms:
                place = int(whose) % len(slow.rooms)
                room, owner, _ = slow.rooms[place]
                if action == "fetch":
                    files.remove(room)
                    files.remove(room)
                    del slow.rooms[place]
                    slow.done = [item for item in slow.done if item is not room]
                elif room not in slow.done:
                    files.keep(room, finished(size) if action == "finish" else ApiError("internal", "no"))
                    slow.rooms[place] = (room, owner, max(1, size))
                    slow.done.append(room)
            assert files.num_files == len(slow.rooms)
            assert files.num_bytes == sum(size for _, _, size in slow.rooms)
            for room, _, _ in slow.rooms:
                assert files.find(room.id, str(room.key)) is room
        for room, _, _ in slow.rooms:
            files.remove(room)
        assert (files.num_files, files.num_bytes) == (0, 0)

    asyncio.run(run())


def test_a_file_that_never_fits_is_too_large() -> None:
    files = FinishedFiles(9, 100, HOUR)
    assert files.admit("a", 100).num_bytes == 100
    with pytest.raises(ApiError, match="at most 100") as refused:
        files.admit("b", 101)
    assert refused.value.kind == "too_large"


def test_a_finished_file_is_removed_for_a_new_one_of_its_owner_only() -> None:
    async def run() -> None:
        files = FinishedFiles(2, 1000, HOUR)
        mine = [files.admit("a", 5) for _ in range(2)]
        for room in mine:
            files.keep(room, finished(5))
        files.admit("b", 5)
        for _ in range(3):
            with pytest.raises(ApiError, match="too many files"):
                files.admit("b", 5)
        assert [files.find(room.id, str(room.key)) for room in mine] == mine
        files.admit("a", 5)
        with pytest.raises(ApiError, match="not found"):
            files.find(mine[0].id, str(mine[0].key))

    asyncio.run(run())


def test_room_is_given_back_unless_the_file_is_kept() -> None:
    async def run() -> None:
        files = FinishedFiles(9, 100, HOUR)
        with files.admit("a", 5):
            assert files.num_bytes == 5
        assert files.num_files == 0
        with files.admit("a", 5) as room:
            files.keep(room, finished(7), "name")
        assert (files.num_files, files.num_bytes) == (1, 7)
        assert files.get("name").data == b"x" * 7

    asyncio.run(run())


def test_a_file_needs_its_key_unless_it_has_none() -> None:
    async def run() -> None:
        files = FinishedFiles(9, 100, HOUR)
        locked, open_ = files.admit("a", 5), files.admit("a", 5)
        files.keep(locked, finished(7))
        files.keep(open_, finished(7), "NAME")
        for file_id, key in (
            (locked.id, ""),
            (locked.id, "\udcff"),
            (locked.id, "None"),
            ("NAME", ""),
            ("NAME", "None"),
        ):
            with pytest.raises(ApiError, match="not found"):
                files.find(file_id, key)
        with pytest.raises(ApiError, match="no such file"):
            files.get(locked.id)
        assert files.find(locked.id.lower(), str(locked.key).lower()) is locked

    asyncio.run(run())


def test_what_is_not_fetched_expires() -> None:
    async def run() -> None:
        files = FinishedFiles(9, 100, 0.01)
        room = files.admit("a", 5)
        files.keep(room, finished(7))
        fetched = files.admit("a", 5)
        files.keep(fetched, finished(7))
        files.remove(fetched)
        in_work = files.admit("a", 5)
        async with asyncio.timeout(60):
            while files.num_files > 1:
                await asyncio.sleep(0.005)
        assert files.find(in_work.id, str(in_work.key)) is in_work
        with pytest.raises(ApiError):
            files.find(room.id, str(room.key))

    asyncio.run(run())


def test_a_file_that_is_fetched_is_not_kept_in_memory_by_its_timer() -> None:
    async def fetch() -> None:
        files = FinishedFiles(2, 100, HOUR)
        reservation = files.admit("a", 10)
        files.keep(reservation, finished(20))
        assert reservation.expiry is not None
        assert not reservation.expiry.cancelled()
        files.remove(reservation)
        assert reservation.expiry.cancelled()

    asyncio.run(fetch())


@pytest.mark.parametrize("start", ["", "0A", "FF"])
def test_ids_are_as_long_whatever_they_begin_with(start: str) -> None:
    [first, second] = [FinishedFiles(2, 100, HOUR, start).admit("a", 1).id for _ in range(2)]
    assert len(first) == len(second) == 32
    assert first != second
    assert first.startswith(start)
    assert set(first) <= set("0123456789ABCDEF")

"""A request of many sentences is queued in portions: the event loop goes on, and all are queued or none."""

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.engine.asynchronous import PORTION, queue_all
from server.engine.queue_budget import Reservation
from server.engine.request import EngineStopped, Overloaded, SearchOptions, SentenceRequest
from server.engine.scheduler import RequestQueue
from server.engine.worker import EngineWorker
from server.scheduling.caller import Caller, Service
from server.settings import EngineSettings
from server.telemetry.metrics import Metrics
from tests.server.engine.conftest import LoadBackend

OPTIONS = SearchOptions(beam_size=1, max_length=4)
LIMIT = 10 * PORTION


def requests_of(count: int, caller: Caller | None = None) -> list[SentenceRequest]:
    """Different sentences of different lengths."""
    return [
        SentenceRequest((5 + number % 7, *(6,) * (number // 7), 3), OPTIONS, caller=caller or Caller("a"))
        for number in range(count)
    ]


@pytest.fixture
def worker(load: LoadBackend) -> Iterator[EngineWorker]:
    """Not started: what is queued waits."""
    worker = EngineWorker(
        load("onnx", "fp32"), EngineSettings(num_workers=1, slots=2, max_waiting=LIMIT), Metrics(), "tiny"
    )
    yield worker
    worker.abandon(EngineStopped("the test is over"))


def room(worker: EngineWorker) -> int:
    """Sentences that the tenant may still queue."""

    def fits(count: int) -> bool:
        try:
            worker.queue.check_capacity(Caller("a"), count)
        except Overloaded:
            return False
        return True

    return next(count for count in itertools.count() if not fits(count + 1))


async def interrupted(worker: EngineWorker, requests: list[SentenceRequest], act: Callable[[], None]) -> list[int]:
    """How many sentences waited at each turn of another task; its second turn calls `act`."""
    waiting: list[int] = []

    async def watch() -> None:
        while True:
            waiting.append(worker.waiting_sentences)
            if len(waiting) == 2:
                act()
            await asyncio.sleep(0)

    watching = asyncio.create_task(watch())
    try:
        await queue_all(worker, requests)
    finally:
        watching.cancel()
    return waiting


@pytest.mark.parametrize("count", [PORTION, PORTION + 1, 5 * PORTION - 1])
def test_other_tasks_run_between_portions(worker: EngineWorker, count: int) -> None:
    waiting = asyncio.run(interrupted(worker, requests_of(count), lambda: None))
    assert worker.waiting_sentences == count
    assert all(after - before <= PORTION for before, after in itertools.pairwise([0, *waiting]))
    assert len(waiting) >= (count - 1) // PORTION
    assert room(worker) == LIMIT - count


def test_the_room_of_later_portions_is_taken(worker: EngineWorker) -> None:
    """Another request of the same tenant, between two portions, is refused: it would take their room."""
    refusals: list[str] = []

    def ask() -> None:
        try:
            worker.answer_all([SentenceRequest((9, 8, number, 3), OPTIONS, caller=Caller("a")) for number in (5, 6, 7)])
        except Overloaded as refused:
            refusals.append(str(refused))

    asyncio.run(interrupted(worker, requests_of(LIMIT - 2), ask))
    assert refusals == [f"{LIMIT - 2} sentences wait already, at most {LIMIT} may"]
    assert worker.waiting_sentences == LIMIT - 2


def test_too_many_are_refused_before_the_first_portion(worker: EngineWorker) -> None:
    with pytest.raises(Overloaded):
        asyncio.run(queue_all(worker, requests_of(LIMIT + 1)))
    assert (worker.waiting_sentences, room(worker)) == (0, LIMIT)


def test_a_request_that_was_cancelled_between_portions_gives_its_room_back(worker: EngineWorker) -> None:
    requests = requests_of(5 * PORTION)

    async def cancelled() -> None:
        task: asyncio.Task[list[int]] | None = None

        def cancel() -> None:
            assert task is not None
            task.cancel()

        task = asyncio.create_task(interrupted(worker, requests, cancel))
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert 0 < worker.waiting_sentences < len(requests)
    assert worker.queue.take(1, 1000)[0] == [], "they are dropped, not decoded"
    assert room(worker) == LIMIT


def test_an_engine_that_stops_between_portions_takes_none(worker: EngineWorker) -> None:
    requests = requests_of(5 * PORTION)
    with pytest.raises(EngineStopped):
        asyncio.run(interrupted(worker, requests, lambda: worker.abandon(EngineStopped("it hangs"))))
    assert all(request.is_cancelled for request in requests)
    assert room(worker) == LIMIT


def test_sentences_that_are_decoded_already_give_their_room_back(worker: EngineWorker) -> None:
    first, second = requests_of(3 * PORTION), requests_of(3 * PORTION)
    asyncio.run(queue_all(worker, first))
    asyncio.run(queue_all(worker, second))
    assert (worker.waiting_sentences, room(worker)) == (3 * PORTION, LIMIT - 3 * PORTION)


def test_portions_are_no_short_requests(worker: EngineWorker) -> None:
    asyncio.run(queue_all(worker, requests_of(PORTION + 1)))
    assert worker.queue.num_short == 0


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from(list(Service)), st.lists(st.integers(0, 4), max_size=4)),
        max_size=8,
    )
)
def test_reserved_and_queued_sentences_hold_the_same_room(wholes: list[tuple[str, Service, list[int]]]) -> None:
    """Whatever portions are queued and taken: at the end nothing is held."""
    queue, begun = RequestQueue(max_waiting=20, max_tokens=90), list[Reservation]()
    for tenant, service, sizes in wholes:
        caller = Caller(tenant, service)
        requests = requests_of(sum(sizes) + 1, caller)
        try:
            reservation = queue.reserve(requests)
        except Overloaded:
            with pytest.raises(Overloaded):
                queue.put(requests)  # the same rule
            continue
        begun.append(reservation)
        for size in sizes:
            with pytest.raises(Overloaded) if service is Service.INTERACTIVE else contextlib.nullcontext():
                queue.check_capacity(caller, 21)
            queue.put([requests.pop() for _ in range(size)], reservation)
        assert reservation.sentences == 1
    for reservation in begun:
        queue.release(reservation)
    while queue.take(5, 100)[0]:
        pass
    for tenant in "ab":
        queue.check_capacity(Caller(tenant), 20)
        full = queue.reserve(requests_of(20, Caller(tenant)))
        queue.release(full)

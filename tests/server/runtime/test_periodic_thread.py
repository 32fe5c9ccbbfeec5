"""Work that a thread repeats."""

import threading

import pytest

from server.runtime.periodic_thread import PeriodicThread
from tests.server.api.conftest import until


def test_work_is_repeated_until_the_thread_is_stopped() -> None:
    done: list[int] = []
    thread = PeriodicThread("often", 0.001, lambda: done.append(1))
    thread.start()
    until(lambda: len(done) > 2, "it works again and again")
    assert thread.stop(10)
    assert not any(other.name == "often" for other in threading.enumerate())


@pytest.mark.parametrize("works_at_end", [False, True])
def test_it_works_at_once_and_at_the_end_if_requested(works_at_end: bool) -> None:
    done: list[int] = []
    thread = PeriodicThread("seldom", 3600, lambda: done.append(1), works_at_end)
    thread.start()
    until(lambda: len(done) == 1, "it has worked")
    assert thread.stop(10)
    assert len(done) == 1 + works_at_end


def test_work_that_hangs_is_not_waited_for() -> None:
    goes_on = threading.Event()

    def hang() -> None:
        goes_on.wait(60)

    assert PeriodicThread("never started", 3600, hang).stop(0)
    thread = PeriodicThread("hangs", 3600, hang)
    thread.start()
    assert not thread.stop(0)
    goes_on.set()
    assert thread.stop(10)

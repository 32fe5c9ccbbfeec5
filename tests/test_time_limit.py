"""A test that would wait for ever is interrupted."""

import asyncio
import contextlib
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.time_limit import TEST_SECONDS, TooLong, seconds_left, time_limit

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no interval timers")


def wait_for_a_lock() -> None:
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def wait_for_a_process() -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stderr=subprocess.PIPE) as process:
        try:
            process.communicate()
        finally:
            process.kill()


def wait_for_a_thread_at_the_end_of_a_block() -> None:
    """The first interruption only ends the block."""
    goes_on = threading.Event()
    try:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(goes_on.wait)
            threading.Event().wait()
    finally:
        goes_on.set()


def wait_in_an_event_loop() -> None:
    asyncio.run(asyncio.Event().wait())


def compute_on_and_on() -> None:
    while True:
        with contextlib.suppress(Exception):
            [].pop()


@pytest.mark.parametrize(
    "endless",
    [
        wait_for_a_lock,
        wait_for_a_process,
        wait_for_a_thread_at_the_end_of_a_block,
        wait_in_an_event_loop,
        compute_on_and_on,
    ],
)
def test_whatever_it_waits_for(endless: Callable[[], None], capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(TooLong, match=r"longer than 0\.2 seconds"), time_limit(0.2, again=0.1):
        endless()
    assert f"in {endless.__name__}" in capfd.readouterr().err


def test_every_test_is_limited_also_after_a_block_of_its_own() -> None:
    assert 0 < seconds_left() <= TEST_SECONDS
    with time_limit(10.0):
        assert seconds_left() <= 10
    assert 10 < seconds_left() <= TEST_SECONDS


@pytest.mark.time_limit(1000.0)
def test_a_test_may_have_a_limit_of_its_own() -> None:
    assert TEST_SECONDS < seconds_left() <= 1000


@pytest.fixture
def limited_fixture() -> float:
    return seconds_left()


def test_fixtures_are_limited(limited_fixture: float) -> None:
    assert limited_fixture <= TEST_SECONDS

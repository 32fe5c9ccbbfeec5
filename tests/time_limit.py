"""No test waits without end, whatever it waits for: a process, a thread, a lock, an event loop.

The system interrupts the main thread, in which tests run, by a signal; that also ends waits in C and in `with` blocks
that wait for threads."""

import contextlib
import faulthandler
import math
import signal
import sys
from collections.abc import Iterator
from types import FrameType

from tests.server.scale import SCALE

TEST_SECONDS = 240.0 * SCALE
"""For the set-up of a test, for the test, and for its end: several times what the longest takes on a busy machine."""
AGAIN_SECONDS = 10.0
"""Between two interruptions: the blocks that an interruption leaves may wait, too."""


class TooLong(BaseException):
    """Not an Exception: who handles all errors of a test, as Hypothesis does to try it again, does not handle this."""


@contextlib.contextmanager
def time_limit(seconds: float = TEST_SECONDS, again: float = AGAIN_SECONDS) -> Iterator[None]:
    """Raise TooLong in the block after so many seconds, and `again` and again until the block has ended. The stacks of
    all threads are written to the standard error. Blocks may be nested; the inner one's limit counts. Without effect
    where the system has no interval timers."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        faulthandler.dump_traceback(sys.__stderr__ or 2)
        raise TooLong(f"this took longer than {seconds:g} seconds; the stacks of all threads are in the standard error")

    former_handler = signal.signal(signal.SIGALRM, interrupt)
    former = signal.setitimer(signal.ITIMER_REAL, seconds, again)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *former)
        signal.signal(signal.SIGALRM, former_handler)


def seconds_left() -> float:
    """Until the block is interrupted; infinity outside of all blocks."""
    return (signal.getitimer(signal.ITIMER_REAL)[0] or math.inf) if hasattr(signal, "getitimer") else math.inf

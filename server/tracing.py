"""What is traced, for whoever collects traces: a request or the work on a document, and the stages of it.

Nothing here knows who collects (server/otlp.py does), or costs more than a look at a variable where nobody does.
Moments are time.monotonic() values. What is told is names, numbers and ids that are ours or the client's: never a text.
"""

import contextlib
import time
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Protocol

Attributes = Mapping[str, str | int | float]


class Trace(Protocol):
    """One thing that is traced."""

    def stage(self, name: str, started: float, ended: float, attributes: Attributes) -> None:
        """A stage of it is over."""

    def end(self, name: str, attributes: Attributes, failed: bool = False) -> None:
        """It is over, and only now has its name. What never ends is never told."""


class Tracing(Protocol):
    """Who collects traces."""

    def request(self, headers: Mapping[str, str], started: float) -> Trace:
        """A request has come; its W3C headers `traceparent` and `tracestate` say which trace it belongs to."""

    def work(self, started: float) -> Trace:
        """Work has begun that no request waits for."""

    def close(self) -> None:
        """Send what is left, or give up after a moment."""


current: ContextVar[Trace | None] = ContextVar("trace", default=None)
"""What is being worked on, wherever its work is done."""


@contextlib.contextmanager
def stage(name: str) -> Iterator[None]:
    """A stage that takes as long as the block."""
    trace = current.get()
    started = time.monotonic()
    try:
        yield
    finally:
        if trace is not None:
            trace.stage(name, started, time.monotonic(), {})

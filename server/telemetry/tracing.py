"""The interface of tracing: requests, work on documents, and their stages.

`server.telemetry.otlp` sends traces to a collector; without one, a stage costs no more than reading a variable. Moments
are time.monotonic() values. Attributes are names, numbers and ids, never user text.
"""

import contextlib
import time
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Protocol

Attributes = Mapping[str, str | int | float]


class Trace(Protocol):
    """A request, or work on a document."""

    def stage(self, name: str, started: float, ended: float, attributes: Attributes) -> None:
        """Add a stage that is over."""

    def end(self, name: str, attributes: Attributes, failed: bool = False) -> None:
        """End the trace and give it its name. A trace that is never ended is never sent."""


class Tracing(Protocol):
    """Where traces are sent."""

    def request(self, headers: Mapping[str, str], started: float) -> Trace:
        """Begin a request's trace; its W3C headers `traceparent` and `tracestate` say which trace it belongs to."""

    def work(self, started: float) -> Trace:
        """Begin the trace of work that no request waits for."""

    def close(self) -> None:
        """Send what is left, or give up after a moment."""


current: ContextVar[Trace | None] = ContextVar("trace", default=None)
"""The trace of what is being worked on."""


@contextlib.contextmanager
def stage(name: str) -> Iterator[None]:
    """Trace the block as a stage."""
    trace = current.get()
    started = time.monotonic()
    try:
        yield
    finally:
        if trace is not None:
            trace.stage(name, started, time.monotonic(), {})

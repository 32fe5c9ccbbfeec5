"""The interface of tracing: requests, document jobs, and their stages.

`server.telemetry.otlp` sends traces to a collector; without a collector, a stage costs no more than reading a variable.
Times are time.monotonic() values. Attributes are names, numbers and ids, never user text.
"""

import contextlib
import time
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Protocol

Attributes = Mapping[str, str | int | float]


class Trace(Protocol):
    """The trace of a request or a document job."""

    def stage(self, name: str, started: float, ended: float, attributes: Attributes) -> None:
        """Add a finished stage."""

    def end(self, name: str, attributes: Attributes, failed: bool = False) -> None:
        """End the trace and set its name. A trace that is never ended is never sent."""


class Tracing(Protocol):
    """Creates traces and sends them."""

    def request(self, headers: Mapping[str, str], started: float) -> Trace:
        """Begin a request's trace, in the trace of its W3C headers `traceparent` and `tracestate`."""

    def work(self, started: float) -> Trace:
        """Begin the trace of background work."""

    def close(self) -> None:
        """Send the remaining spans, for a limited time."""


current: ContextVar[Trace | None] = ContextVar("trace", default=None)
"""The trace of the current work."""


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

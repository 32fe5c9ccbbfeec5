"""Tells traces of the stages that sentences went through in the engine."""

from collections.abc import Callable, Iterable, Sequence

from server.engine.request import SentenceRequest, SentenceResult
from server.telemetry import tracing

Span = tuple[float, float]
"""From one moment to another, time.monotonic() values."""


def trace_stages_of(requests: Sequence[SentenceRequest], results: Sequence[SentenceResult]) -> None:
    """Tell the current trace of the sentences of one call. A stage lasts from the first sentence that enters it to the
    last that leaves it, so stages may overlap. Sentences from the cache have no stages; those that shared another's
    search only waited."""
    trace = tracing.current.get()
    if trace is None:
        return
    timed = [(request.arrival, result) for request, result in zip(requests, results, strict=True) if request.arrival]
    decoded = [one for one in timed if one[1].timings.decode]
    for name, of_stage, span in (("queue", timed, _queue), ("encode", decoded, _encode), ("decode", decoded, _decode)):
        if of_stage:
            started, ended = _around(of_stage, span)
            trace.stage(name, started, ended, {"ringmt.sentences": len(of_stage)})


def _around(sentences: Iterable[tuple[float, SentenceResult]], span: Callable[[float, SentenceResult], Span]) -> Span:
    starts, ends = zip(*(span(arrival, result) for arrival, result in sentences), strict=True)
    return min(starts), max(ends)


def _queue(arrival: float, result: SentenceResult) -> Span:
    return arrival, arrival + result.timings.queue


def _encode(arrival: float, result: SentenceResult) -> Span:
    started = arrival + result.timings.queue
    return started, started + result.timings.encode


def _decode(arrival: float, result: SentenceResult) -> Span:
    started = arrival + result.timings.queue + result.timings.encode
    return started, started + result.timings.decode

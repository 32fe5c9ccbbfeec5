"""Adds the stages of sentences in the engine to traces."""

from collections.abc import Callable, Iterable, Sequence

from server.engine.request import SentenceRequest, SentenceResult
from server.telemetry import tracing

Span = tuple[float, float]
"""From one moment to another, time.monotonic() values."""


def record_stages(requests: Sequence[SentenceRequest], results: Sequence[SentenceResult]) -> None:
    """Add the stages of one call's sentences to the current trace. A stage lasts from the first sentence that enters it
    to the last that leaves it, so stages may overlap. Sentences from the cache have no stages; sentences that joined
    the search of another one have the stage "queue" only."""
    trace = tracing.current.get()
    if trace is None:
        return
    timed = [(request.arrival, result) for request, result in zip(requests, results, strict=True) if request.arrival]
    decoded = [sentence for sentence in timed if sentence[1].timings.decode]
    for name, sentences, span in (("queue", timed, _queue), ("encode", decoded, _encode), ("decode", decoded, _decode)):
        if sentences:
            started, ended = _span_of_all(sentences, span)
            trace.stage(name, started, ended, {"ringmt.sentences": len(sentences)})


def _span_of_all(
    sentences: Iterable[tuple[float, SentenceResult]], span: Callable[[float, SentenceResult], Span]
) -> Span:
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

"""Translates or scores sentences in the calling thread: for self tests, evaluation and comparisons."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from server.backends.base import Backend
from server.backends.context import SentenceContext, full_context
from server.engine.engine import Engine
from server.engine.meter import EngineMeter
from server.engine.request import SearchOptions, SentenceRequest, SentenceResult
from server.engine.scheduler import RequestQueue
from server.telemetry.metrics import Metrics

Ids = tuple[int, ...]
MANY, FEW = 64, 16
"""Sentences at a time; few where the memory of a sentence's past has no limit. A step for 64 takes up to 15% less time
than four for 16."""


@dataclass(frozen=True)
class Source:
    """Ids of a sentence, and of the `preceding` sentences of its document, its context; all end with EOS.
    `translations` of the preceding sentences, without EOS, are needed where context is on the decoder's side."""

    ids: tuple[int, ...]
    preceding: tuple[tuple[int, ...], ...] = ()
    translations: tuple[tuple[int, ...], ...] = ()


def translate_now(backend: Backend, sources: list[Source], options: SearchOptions) -> list[SentenceResult]:
    """The results of `sources`, in their order. Raises what the engine raises."""
    return run_now(
        backend,
        [SentenceRequest(source.ids, options, context=preceding_context(backend, source)) for source in sources],
    )


def log_probabilities(backend: Backend, pairs: Sequence[tuple[Ids, Ids]]) -> list[tuple[float, ...]]:
    """Log-probabilities, in nats, of every token of every target, given (source, target) ids that end with EOS. Raises
    CannotScore."""
    backend.prepare_scores()
    results = run_now(
        backend,
        [
            SentenceRequest(source, SearchOptions(1, max_length=len(target)), targets=(target,))
            for source, target in pairs
        ],
    )
    return [result.hypotheses[0].log_probabilities for result in results]


def run_now(
    backend: Backend, requests: Sequence[SentenceRequest], engine_class: type[Engine] = Engine
) -> list[SentenceResult]:
    """Run an engine for these requests until all are resolved, the longest first, so that what runs together is of
    similar length."""
    queue = RequestQueue(len(requests))
    queue.put(sorted(requests, key=lambda request: -len(request.source_ids)))
    slots = FEW if backend.manifest.order is None else MANY
    engine = engine_class(backend, queue, slots, meter=_unread_meter())
    while not engine.is_idle:
        engine.step()
    return [request.future.result() for request in requests]


@functools.cache
def _unread_meter() -> EngineMeter:
    """One meter for all runs, whose metrics are not read: making a meter takes longer than a short run."""
    return EngineMeter(Metrics(), "")


def preceding_context(backend: Backend, source: Source) -> SentenceContext | None:
    """The preceding sentences within the model's reach as context; None if none of them has words. Raises ValueError
    when the backend knows no context."""
    if not source.preceding:
        return None
    if backend.context is None:
        raise ValueError(f"{backend.manifest.name} has no context graphs, but a source with sentences before it")
    reach = backend.context.reach or len(source.preceding)
    preceding, translations = source.preceding[-reach:], source.translations[-reach:]
    if backend.context.side == "encoder":
        return full_context(
            [backend.context.compute_states(ids) for ids in preceding], [len(ids) - 1 for ids in preceding]
        )
    pairs = zip(preceding, translations, strict=True)
    return full_context([backend.context.compute_states(*pair) for pair in pairs], [len(ids) for ids in translations])

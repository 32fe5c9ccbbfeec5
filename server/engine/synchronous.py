"""Translates or scores sentences in the calling thread: for goldens, evaluation and comparisons."""

from collections.abc import Sequence
from dataclasses import dataclass

from server.backends.base import Backend
from server.backends.context import SentenceContext, all_of
from server.engine.engine import Engine
from server.engine.meter import EngineMeter
from server.engine.request import SearchOptions, SentenceRequest, SentenceResult
from server.engine.scheduler import RequestQueue
from server.telemetry.metrics import Metrics

Ids = tuple[int, ...]


@dataclass(frozen=True)
class Source:
    """Ids of a sentence, and of the sentences `before` it in its document, which it sees; all end with EOS.
    `translations` of those before, without EOS, are needed where context is on the decoder's side."""

    ids: tuple[int, ...]
    before: tuple[tuple[int, ...], ...] = ()
    translations: tuple[tuple[int, ...], ...] = ()


def translate_now(backend: Backend, sources: list[Source], options: SearchOptions) -> list[SentenceResult]:
    """The results of `sources`, in their order. Raises what the engine raises."""
    return _answers(
        backend,
        [SentenceRequest(source.ids, options, context=context_before(backend, source)) for source in sources],
    )


def log_probabilities(backend: Backend, pairs: Sequence[tuple[Ids, Ids]]) -> list[tuple[float, ...]]:
    """Log-probabilities, in nats, of every token of every target, given (source, target) ids that end with EOS. Raises
    CannotScore."""
    backend.prepare_scores()
    results = _answers(
        backend,
        [
            SentenceRequest(source, SearchOptions(1, max_length=len(target)), targets=(target,))
            for source, target in pairs
        ],
    )
    return [result.hypotheses[0].log_probabilities for result in results]


def _answers(backend: Backend, requests: list[SentenceRequest]) -> list[SentenceResult]:
    """Run an engine made for these requests until all are answered."""
    room = RequestQueue(len(requests))
    room.put(requests)
    engine = Engine(backend, room, slots=16, meter=EngineMeter(Metrics(), backend.manifest.name))
    while not engine.is_idle:
        engine.step()
    return [request.future.result() for request in requests]


def context_before(backend: Backend, source: Source) -> SentenceContext | None:
    """The context of a sentence that sees those before it within the model's reach; None where there are none, or none
    with words. Raises ValueError when the backend knows no context."""
    if not source.before:
        return None
    if backend.context is None:
        raise ValueError(f"{backend.manifest.name} has no context graphs, but a source with sentences before it")
    reach = backend.context.reach or len(source.before)
    before, translations = source.before[-reach:], source.translations[-reach:]
    if backend.context.side == "encoder":
        return all_of([backend.context.represent(ids) for ids in before], [len(ids) - 1 for ids in before])
    pairs = zip(before, translations, strict=True)
    return all_of([backend.context.represent(*pair) for pair in pairs], [len(ids) for ids in translations])

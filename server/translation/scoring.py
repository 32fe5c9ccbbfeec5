"""Scores given translations: texts in, log-probabilities out."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from server.backends.context import SentenceContext
from server.engine.request import SearchOptions, SentenceRequest, SentenceResult, Timings
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload
from server.translation.assembly import largest_timings
from server.translation.translator import Translator

MOST_ROWS = 16
"""Translations of one sentence that share a slot."""


class TooLongToScore(ValueError):
    """A source or a translation has more pieces than the model takes."""


@dataclass(frozen=True)
class ScoringItem:
    """One sentence, its translations, and its context. Texts are not cut into sentences."""

    source: str
    targets: Sequence[str]
    context: SentenceContext | None = None


@dataclass(frozen=True)
class TargetScore:
    """One translation: its `pieces`, the end included, and the log-probability (nats) of each."""

    target: str
    pieces: tuple[str, ...]
    log_probabilities: tuple[float, ...]

    @property
    def score(self) -> float:
        return sum(self.log_probabilities)

    @property
    def mean(self) -> float:
        return self.score / len(self.log_probabilities)


@dataclass(frozen=True)
class ScoringOutcome:
    """`targets` of every item. Timings as TranslationOutcome has them."""

    targets: tuple[tuple[TargetScore, ...], ...]
    timings: Timings
    total: float


async def score(translator: Translator, items: Sequence[ScoringItem], deadline: float | None) -> ScoringOutcome:
    """Log-probabilities of the pieces of every item's targets, over the whole vocabulary (searches may use a
    shortlist); their sum is log p(target | source, context). All items are queued or none. `deadline` is a
    time.monotonic() value.

    Raises TooLongToScore, CannotScore, and what Translator.run raises.
    """
    started = time.monotonic()
    await asyncio.to_thread(translator.worker.prepare_scores)
    requests = await offload(_prepare, translator, items, deadline)
    results = await translator.run([request for of_item in requests for request in of_item], deadline)
    targets = await offload(_finish, translator, items, requests, results)
    return ScoringOutcome(targets, largest_timings(results), time.monotonic() - started)


def _prepare(
    translator: Translator, items: Sequence[ScoringItem], deadline: float | None
) -> list[list[SentenceRequest]]:
    return [list(_requests(translator, index, item, deadline)) for index, item in enumerate(items)]


def _requests(
    translator: Translator, index: int, item: ScoringItem, deadline: float | None
) -> Iterator[SentenceRequest]:
    manifest = translator.artifact.manifest
    checkpoint()
    [source] = translator.source_pieces.encode([item.source])
    _check_length(len(source), manifest.max_source_length, f"item {index}: the source")
    targets = translator.target_pieces.encode(item.targets)
    for number, ids in enumerate(targets):
        _check_length(len(ids), manifest.max_target_length, f"item {index}: target {number}")
    for start in range(0, len(targets), MOST_ROWS):
        batch = tuple(targets[start : start + MOST_ROWS])
        options = SearchOptions(len(batch), max_length=manifest.max_target_length, deadline=deadline)
        yield SentenceRequest(source, options, item.context, targets=batch)


def _check_length(length: int, longest: int, what: str) -> None:
    if length > longest:
        raise TooLongToScore(
            f"{what} has {length} pieces, its end included; the model takes {longest}: score its parts"
        )


def _finish(
    translator: Translator,
    items: Sequence[ScoringItem],
    requests: Sequence[Sequence[SentenceRequest]],
    results: Sequence[SentenceResult],
) -> tuple[tuple[TargetScore, ...], ...]:
    log_probabilities = (hypothesis.log_probabilities for result in results for hypothesis in result.hypotheses)
    ids = (target for of_item in requests for request in of_item for target in request.targets)
    return tuple(
        tuple(
            TargetScore(target, tuple(translator.target_pieces.texts(next(ids))), next(log_probabilities))
            for target in item.targets
        )
        for item in items
    )

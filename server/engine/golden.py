"""Goldens: a few sources with the translations that the exporter saw, replayed when a server starts."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from server.artifact import Artifact, ArtifactError
from server.backends.base import Backend
from server.backends.context import SentenceContext, all_of
from server.engine.engine import Engine
from server.engine.meter import EngineMeter
from server.engine.request import SearchOptions, SentenceRequest, SentenceResult
from server.engine.scheduler import WaitingRoom
from server.metrics import Metrics

Ids = tuple[int, ...]
GOLDEN = "golden.json"
SCORE_TOLERANCE = 0.1
"""Largest difference of a normalized score; other processors round differently, a broken graph is far off."""


@dataclass(frozen=True)
class Source:
    """Ids of a sentence, and of the sentences `before` it in its document, which it sees. All end with EOS.
    `translations` of those before, without EOS, where context is on the decoder's side."""

    ids: tuple[int, ...]
    before: tuple[tuple[int, ...], ...] = ()
    translations: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Golden:
    """One source and what graphs of a format and precision made of it, with or without a shortlist."""

    format: str
    precision: str
    shortlist: bool
    source: Source
    target_ids: tuple[int, ...]
    normalized_score: float


def search(backend: Backend, sources: list[Source], options: SearchOptions) -> list[SentenceResult]:
    """Translate sentences right here, without threads: a whole engine of its own."""
    return _answers(
        backend,
        [SentenceRequest(source.ids, options, context=context_before(backend, source)) for source in sources],
    )


def log_probabilities(backend: Backend, pairs: Sequence[tuple[Ids, Ids]]) -> list[tuple[float, ...]]:
    """Of every token (nats) of the targets of (source, target) pairs, which end with EOS. Raises CannotScore."""
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
    room = WaitingRoom(len(requests))
    room.put(requests)
    engine = Engine(backend, room, slots=16, meter=EngineMeter(Metrics(), backend.manifest.name))
    while not engine.is_idle:
        engine.step()
    return [request.future.result() for request in requests]


def context_before(backend: Backend, source: Source) -> SentenceContext | None:
    """What a sentence sees that sees all sentences before it; None where those have no words, or there are none.
    Raises ValueError when the backend knows no context."""
    if not source.before:
        return None
    if backend.context is None:
        raise ValueError(f"{backend.manifest.name} has no context graphs, but a source with sentences before it")
    if backend.context.side == "encoder":
        states = [backend.context.represent(ids) for ids in source.before]
        return all_of(states, [len(ids) - 1 for ids in source.before])
    pairs = zip(source.before, source.translations, strict=True)
    return all_of([backend.context.represent(*pair) for pair in pairs], [len(ids) for ids in source.translations])


def read_goldens(path: Path) -> list[Golden]:
    """Raises ArtifactError when the file is not what the exporter writes."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return [
            Golden(
                r["format"],
                r["precision"],
                bool(r.get("shortlist", False)),
                Source(
                    tuple(r["source_ids"]),
                    tuple(tuple(ids) for ids in r.get("context_ids", ())),
                    tuple(tuple(ids) for ids in r.get("context_target_ids", ())),
                ),
                tuple(r["target_ids"]),
                float(r["normalized_score"]),
            )
            for r in rows
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ArtifactError(f"{path} holds no goldens: {error}") from error


def replay(artifact: Artifact, backend: Backend, format: str, precision: str) -> int:
    """Translate the goldens of the graphs that `backend` runs again; returns how many came out token for token.

    Raises ArtifactError where even the score is another one: then the graphs do not compute here what they computed
    where they were exported.
    """
    made_by = (format, precision, backend.shortlist)
    goldens = [g for g in read_goldens(artifact.path(GOLDEN)) if (g.format, g.precision, g.shortlist) == made_by]
    results = search(backend, [golden.source for golden in goldens], SearchOptions())
    same = 0
    for golden, result in zip(goldens, results, strict=True):
        best = result.hypotheses[0]
        same += best.ids == golden.target_ids
        if abs(best.normalized_score - golden.normalized_score) > SCORE_TOLERANCE:
            raise ArtifactError(
                f"artifact '{artifact.manifest.name}' translates its own examples differently on this machine: "
                f"score {best.normalized_score:.3f} instead of {golden.normalized_score:.3f}"
            )
    return same

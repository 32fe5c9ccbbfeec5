"""Goldens: a few sources with the translations that the exporter saw, replayed when a server starts."""

import json
from dataclasses import dataclass
from pathlib import Path

from server.artifact import Artifact, ArtifactError
from server.backends.base import Backend
from server.engine.engine import Engine
from server.engine.meter import EngineMeter
from server.engine.request import SearchOptions, SentenceRequest, SentenceResult
from server.engine.scheduler import WaitingRoom
from server.metrics import Metrics

GOLDEN = "golden.json"
SCORE_TOLERANCE = 0.1
"""Largest difference of a normalized score; other processors round differently, a broken graph is far off."""


@dataclass(frozen=True)
class Golden:
    """One source and what graphs of `backend` and `precision` made of it, with or without a shortlist."""

    backend: str
    precision: str
    shortlist: bool
    source_ids: tuple[int, ...]
    target_ids: tuple[int, ...]
    normalized_score: float


def search(backend: Backend, sources: list[tuple[int, ...]], options: SearchOptions) -> list[SentenceResult]:
    """Translate sentences right here, without threads: a whole engine of its own."""
    room = WaitingRoom(len(sources))
    requests = [SentenceRequest(source, options) for source in sources]
    room.put(requests)
    engine = Engine(backend, room, slots=16, meter=EngineMeter(Metrics(), backend.manifest.name))
    while not engine.is_idle:
        engine.step()
    return [request.future.result() for request in requests]


def read_goldens(path: Path) -> list[Golden]:
    """Raises ArtifactError when the file is not what the exporter writes."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return [
            Golden(
                r["backend"],
                r["precision"],
                bool(r.get("shortlist", False)),
                tuple(r["source_ids"]),
                tuple(r["target_ids"]),
                float(r["normalized_score"]),
            )
            for r in rows
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ArtifactError(f"{path} holds no goldens: {error}") from error


def replay(artifact: Artifact, backend: Backend, kind: str, precision: str) -> int:
    """Translate the goldens of these graphs again; returns how many came out token for token.

    Raises ArtifactError where even the score is another one: then the graphs do not compute here what they computed
    where they were exported.
    """
    made_by = (kind, precision, bool(backend.shortlist))
    goldens = [g for g in read_goldens(artifact.path(GOLDEN)) if (g.backend, g.precision, g.shortlist) == made_by]
    results = search(backend, [golden.source_ids for golden in goldens], SearchOptions())
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

"""Goldens: a few sources with the translations that the exporter saw, replayed when a server starts."""

import json
from dataclasses import dataclass
from pathlib import Path

from server.artifact import Artifact, ArtifactError
from server.backends.base import Backend
from server.engine.request import SearchOptions
from server.engine.synchronous import Source, translate_now

GOLDEN = "golden.json"
SCORE_TOLERANCE = 0.1
"""Largest difference of a normalized score, in nats: other processors round differently, but a broken graph is far
off."""


@dataclass(frozen=True)
class Golden:
    """One source and what graphs of a format and precision made of it, with or without a shortlist."""

    format: str
    precision: str
    shortlist: bool
    source: Source
    target_ids: tuple[int, ...]
    normalized_score: float


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
    """Translate the goldens of the graphs that `backend` runs again; returns how many have the same tokens.

    Raises ArtifactError where a score differs by more than SCORE_TOLERANCE: then the graphs do not compute here what
    they computed where they were exported.
    """
    made_by = (format, precision, backend.shortlist)
    goldens = [g for g in read_goldens(artifact.path(GOLDEN)) if (g.format, g.precision, g.shortlist) == made_by]
    results = translate_now(backend, [golden.source for golden in goldens], SearchOptions())
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

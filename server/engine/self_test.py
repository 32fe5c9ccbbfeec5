"""Goldens: a few sources with the translations that the exporter saw, replayed when a server starts."""

import json
from dataclasses import dataclass
from pathlib import Path

from server.artifact.artifact import EXPORT_AGAIN, REPAIR, Artifact, ArtifactError
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


@dataclass(frozen=True)
class SelfTestResult:
    """What became of the goldens: how many there are for the graphs, and how many got the same tokens."""

    count: int
    same: int


def run_self_test(artifact: Artifact, backend: Backend, format: str, precision: str) -> SelfTestResult:
    """Translate the goldens of the graphs that `backend` runs again.

    Raises ArtifactError where there are none, where a score differs by more than SCORE_TOLERANCE or is no number, and
    where none gets the same tokens: then the graphs do not compute here what they computed where they were exported, or
    nobody can say whether they do.
    """
    name, made_by = artifact.manifest.name, (format, precision, backend.shortlist)
    goldens = [g for g in read_goldens(artifact.path(GOLDEN)) if (g.format, g.precision, g.shortlist) == made_by]
    if not goldens:
        graphs = f"{format} {precision}, {'with' if backend.shortlist else 'without'} shortlist"
        raise ArtifactError(
            f"artifact '{name}' at {artifact.folder} has no examples of these graphs ({graphs}) in {GOLDEN}, so that "
            f"nobody can say whether they compute here what they should: {EXPORT_AGAIN}"
        )
    results = translate_now(backend, [golden.source for golden in goldens], SearchOptions())
    same = 0
    for golden, result in zip(goldens, results, strict=True):
        best = result.hypotheses[0]
        same += best.ids == golden.target_ids
        if not abs(best.normalized_score - golden.normalized_score) <= SCORE_TOLERANCE:  # also what is no number
            raise ArtifactError(
                f"artifact '{name}' translates its own examples differently on this machine: score "
                f"{best.normalized_score:.3f} instead of {golden.normalized_score:.3f}; {REPAIR}"
            )
    if not same:
        raise ArtifactError(
            f"artifact '{name}' translates its own examples differently on this machine: none of {len(goldens)} has "
            f"the tokens that it had where it was exported; {REPAIR}"
        )
    return SelfTestResult(len(goldens), same)

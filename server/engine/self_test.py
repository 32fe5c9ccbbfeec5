"""The self test: goldens, which are a few sources with their translations at export, are translated again when a model
is loaded."""

import json
from dataclasses import dataclass
from pathlib import Path

from server.artifact.artifact import Artifact
from server.artifact.manifest import EXPORT_AGAIN, REPAIR, ArtifactError
from server.backends.base import Backend
from server.engine.request import SearchOptions
from server.engine.synchronous import Source, translate_now

GOLDEN = "golden.json"
SCORE_TOLERANCE = 0.1
"""Largest difference of a normalized score, in nats: processors round differently, but the scores of a broken graph
differ by far more."""


@dataclass(frozen=True)
class Golden:
    """A source and its translation by the graphs of a format and precision, with or without a shortlist."""

    format: str
    precision: str
    shortlist: bool
    source: Source
    target_ids: tuple[int, ...]
    normalized_score: float


def read_goldens(path: Path) -> list[Golden]:
    """Raises ArtifactError for a file that the exporter did not write."""
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
    """`count`: goldens of the graphs. `same`: goldens whose translation had the same tokens."""

    count: int
    same: int


def run_self_test(artifact: Artifact, backend: Backend, format: str, precision: str) -> SelfTestResult:
    """Translate the goldens of the graphs that `backend` runs.

    Raises ArtifactError if there are no goldens, a score differs by more than SCORE_TOLERANCE or is no number, or no
    golden gets the same tokens.
    """
    name, graphs = artifact.manifest.name, (format, precision, backend.shortlist)
    goldens = [g for g in read_goldens(artifact.path(GOLDEN)) if (g.format, g.precision, g.shortlist) == graphs]
    if not goldens:
        description = f"{format} {precision}, {'with' if backend.shortlist else 'without'} shortlist"
        raise ArtifactError(
            f"artifact '{name}' at {artifact.folder} has no examples of these graphs ({description}) in {GOLDEN}, so "
            f"that they cannot be tested on this machine: {EXPORT_AGAIN}"
        )
    results = translate_now(backend, [golden.source for golden in goldens], SearchOptions())
    same = 0
    for golden, result in zip(goldens, results, strict=True):
        best = result.hypotheses[0]
        same += best.ids == golden.target_ids
        if not abs(best.normalized_score - golden.normalized_score) <= SCORE_TOLERANCE:  # also for NaN
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

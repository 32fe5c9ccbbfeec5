"""What the server's own engine makes of a row: its translations, and its speed."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from export.artifact_writer import ExportOptions, export_artifact
from export.bench.measure import CompetitorOptions, Workload, alternate, competitors, median
from export.compare.rows import Row
from export.evaluate import translate
from model.config import ModelConfig
from server.artifact import Artifact
from server.backends.load import load_backend
from server.engine.request import SearchOptions

PRECISION = "fp32"
"""The one precision that every model can be exported at."""
BATCH = 32


def translations(row: Row, sets: Sequence[Sequence[str]], beam: int) -> list[list[str]]:
    """Every set translated by the row's own ONNX graphs. Raises what the export raises."""
    languages = (row.recipe.data.source, row.recipe.data.target)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "artifact"
        export_artifact(row.folder, out, ExportOptions(row.name, languages, (("onnx", PRECISION),)))
        artifact = Artifact.load(out)
        options = SearchOptions(beam_size=beam, max_length=artifact.manifest.max_target_length)
        backend = load_backend(artifact, "onnx", PRECISION, "off")
        return [translate(artifact, list(sources), backend, options) for sources in sets]


def tokens_per_second(configs: Sequence[ModelConfig], beam: int, rounds: int) -> list[float]:
    """Median over alternating rounds, one worker each.

    Models of these configurations with random weights, so that every sentence has the same length in all of them:
    how long trained models make their sentences is no matter of speed.
    """
    options = [CompetitorOptions("ours", "", PRECISION, None, config=config.to_dict()) for config in configs]
    with competitors(options) as processes:
        return [median(speeds) for speeds in alternate(processes, Workload(BATCH, beam), rounds)]

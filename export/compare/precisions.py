"""What int8 costs: a row's own graphs at both precisions, on the same text."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from export.artifact_writer import ExportOptions, export_artifact
from export.commands import EXAMPLES, lines
from export.compare.rows import Row
from export.compare.text import TextSet
from export.compare.translate import longest
from export.evaluate import reference_nll, score, translate
from server.artifact.artifact import Artifact
from server.backends.load import load_backend
from server.engine.request import SearchOptions

PRECISIONS = ("fp32", "int8")


def at_both_precisions(row: Row, texts: Sequence[TextSet], beam: int) -> dict[str, dict[str, Any]]:
    """Precision -> the fields of export.evaluate.Score, of the text of all sets together. Calibrated as `ringmt export`
    does it without being told otherwise. Raises what the export raises."""
    row.require_weights()
    sources = [source for text in texts for source in text.sources]
    references = [reference for text in texts for reference in text.references]
    languages = (row.recipe.data.source, row.recipe.data.target)
    graphs = tuple(("onnx", precision) for precision in PRECISIONS)
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "artifact"
        export_artifact(row.base, out, ExportOptions(row.name, languages, graphs, calibration=lines(EXAMPLES)))
        artifact, options = Artifact.load(out), SearchOptions(beam_size=beam, max_length=longest(row))
        for precision in PRECISIONS:
            backend = load_backend(artifact, "onnx", precision, "off")
            hypotheses = translate(artifact, sources, backend, options)
            nll = reference_nll(artifact, sources, references, backend)
            found[precision] = vars(score(precision, hypotheses, references, nll))
    return found

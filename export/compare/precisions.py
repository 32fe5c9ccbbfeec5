"""The cost of int8: the graphs of a row at both precisions, on the same text."""

from collections.abc import Sequence
from typing import Any

from export.commands import EXAMPLES, lines
from export.compare.rows import Row
from export.compare.text import TextSet
from export.compare.translate import exported, longest
from export.evaluate import reference_nll, score, translate
from server.backends.load import load_backend
from server.engine.request import SearchOptions

PRECISIONS = ("fp32", "int8")


def score_precisions(row: Row, texts: Sequence[TextSet], beam: int) -> dict[str, dict[str, Any]]:
    """Precision -> the fields of export.evaluate.Score, of the text of all sets together. Calibrated with the
    defaults of `ringmt export`. Raises the errors of the export."""
    sources = [source for text in texts for source in text.sources]
    references = [reference for text in texts for reference in text.references]
    options, result = SearchOptions(beam_size=beam, max_length=longest(row)), {}
    with exported(row, PRECISIONS, lines(EXAMPLES)) as artifact:
        for precision in PRECISIONS:
            backend = load_backend(artifact, "onnx", precision, "off")
            hypotheses = translate(artifact, sources, backend, options)
            nll = reference_nll(artifact, sources, references, backend)
            result[precision] = vars(score(precision, hypotheses, references, nll))
    return result

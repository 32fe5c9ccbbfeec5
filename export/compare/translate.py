"""A row's translations: alone by the server's own engine, in context greedily."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from export.artifact_writer import ExportOptions, export_artifact
from export.compare.conditions import distances, stored_document
from export.compare.rows import Row
from export.compare.text import TextSet
from export.evaluate import translate
from model.data.vocabulary import Vocabulary
from model.document_greedy import document_store, greedy_document
from server.artifact.artifact import Artifact
from server.backends.load import load_backend
from server.engine.request import SearchOptions

PRECISION = "fp32"
"""The precision at which every model can be exported."""
LONGEST = 100
"""Tokens at which a translation is cut, since briefly trained models may generate no EOS."""


def longest(row: Row) -> int:
    """Tokens at which the row's translations are cut; BOS takes a place, too."""
    return min(LONGEST, row.config.max_length - 1)


@contextmanager
def exported(row: Row, precisions: Sequence[str], calibration: tuple[str, ...] = ()) -> Iterator[Artifact]:
    """A temporary artifact of the row's sentence model. Raises the errors of the export."""
    row.require_weights()
    languages = (row.recipe.data.source, row.recipe.data.target)
    graphs = tuple(("onnx", precision) for precision in precisions)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "artifact"
        export_artifact(row.base, out, ExportOptions(row.name, languages, graphs, calibration=calibration))
        yield Artifact.load(out)


def translations_alone(row: Row, texts: Sequence[TextSet], beam: int) -> list[list[str]]:
    """Every text by the row's own ONNX graphs. Raises the errors of the export."""
    options = SearchOptions(beam_size=beam, max_length=longest(row))
    with exported(row, (PRECISION,)) as artifact:
        backend = load_backend(artifact, "onnx", PRECISION, "off")
        return [translate(artifact, text.sources, backend, options) for text in texts]


def translations_in_context(row: Row, text: TextSet, condition: str) -> list[str]:
    """Greedy translations in PyTorch."""
    model, vocabulary = row.load_in_context(), Vocabulary(row.vocabulary)
    documents = [[pair.source for pair in document] for document in text.pairs]
    stores = [document_store(model, document, longest(row)) for document in documents]
    results = []
    for index, document in enumerate(documents):
        stored = stored_document(condition, index, len(documents))
        distance = distances(condition, len(document), len(documents[stored]))
        results += greedy_document(model, document, stores[stored], distance, longest(row))
    return vocabulary.decode(results)

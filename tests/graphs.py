"""The graphs of a model by themselves, without the checks and the other files of an artifact."""

import dataclasses
from pathlib import Path

import torch

from export.artifact_writer import write_graph
from export.calibration import Ranges, recorded_ranges
from export.manifest import context_kind, graph_files, make_manifest, with_context
from export.onnx_graph.quantize import Traces
from export.onnx_graph.shortlist import ShortlistPlan
from export.onnx_writer import ContextExport
from export.signature import with_signatures
from model.document import DocumentModel
from model.translation_model import TranslationModel
from server.artifact.artifact import Artifact


def write_graphs(
    model: TranslationModel | DocumentModel,
    folder: Path,
    *kinds: tuple[str, str],
    ranges: Ranges | None = None,
    align: bool = False,
    score: bool = False,
    plan: ShortlistPlan | None = None,
) -> Artifact:
    """The graphs of these formats and precisions, those that align with `align` only, those of TorchScript that score
    (a trace takes time) with `score` only; at int8 with the `ranges`, by default those of random words; with the
    shortlist of a `plan`."""
    document = model if isinstance(model, DocumentModel) else None
    base = model.base if isinstance(model, DocumentModel) else model
    graphs = tuple(graph_files(*kind, plan is not None) for kind in kinds)
    if not align:
        graphs = tuple(dataclasses.replace(graph, align="") for graph in graphs)
    if not score:
        graphs = tuple(graph if graph.format == "onnx" else dataclasses.replace(graph, score="") for graph in graphs)
    if document is not None:
        graphs = tuple(with_context(graph, document) for graph in graphs)
    manifest = make_manifest(base, "x", ("en", "de"), graphs, "", "", 1.0, {})
    if document is not None:
        manifest = dataclasses.replace(manifest, context=context_kind(document))
    if ranges is None:
        ranges = ranges_of_random_words(base) if any(graph.precision == "int8" for graph in graphs) else {}
    in_context = None if document is None else ContextExport(document, ranges)
    traces = Traces(keep=len(graphs) > 1)
    for graph in graphs:
        write_graph(base, manifest, graph, ranges, folder, plan, in_context, traces)
    return Artifact(folder, with_signatures(manifest, folder))


@torch.no_grad()
def ranges_of_random_words(model: TranslationModel) -> Ranges:
    """Any words: searches find what greedy ones do not."""
    ids = torch.randint(4, model.config.vocab_size, (8, 20), generator=torch.Generator().manual_seed(0))
    with recorded_ranges(model) as ranges:
        for length in (1, 2, 20):
            model(ids[:, :length], torch.ones(8, length, dtype=torch.bool), ids.flip(0))
    return ranges

"""Writes a model's ONNX graphs at fp32 or int8, with their weights in one file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import onnx

from export.align_graph import build_align_graph
from export.alignment import head_of
from export.calibration import Ranges
from export.decoder_context import decoder_context_graphs
from export.document_graphs import document_graphs
from export.example_state import example_source
from export.graphs import EncodeGraph
from export.onnx_graph.exporter import Axes, export_module
from export.onnx_graph.linear import Projection, projection_for
from export.onnx_graph.quantize import Traces, edited
from export.onnx_graph.shortlist import ShortlistPlan, add_shortlist
from export.onnx_graph.step import build_step_graph, export_step
from export.onnx_graph.used_entries import attend_used_entries
from export.onnx_graph.words import Words
from export.score_graph import score_graph
from export.shared_weights import SharedWeights
from model.document import DocumentModel
from model.translation_model import TranslationModel
from server.artifact.manifest import GraphFiles, Manifest


@dataclass(frozen=True)
class ContextExport:
    """A document model, and the ranges of its linear maps where its sentences see each other."""

    document: DocumentModel
    ranges: Ranges


def build_encode_graph(
    model: TranslationModel,
    manifest: Manifest,
    ranges: Mapping[str, float] | None,
    shortlist: tuple[ShortlistPlan, Projection, Words] | None = None,
    traces: Traces | None = None,
) -> onnx.ModelProto:
    """source_ids, source_keep [batch, source] -> the manifest's source tensors and, where it has context, memory
    [batch, source, d]. With a shortlist, the projection and its words: the sentences' shortlists."""
    inputs: Axes = dict.fromkeys(("source_ids", "source_keep"), ("batch", "source"))
    outputs: Axes = dict.fromkeys(manifest.source_tensors, ("batch", None, "source"))
    if manifest.gives_memory:
        outputs = {**outputs, "memory": ("batch", "source")}
    traced = (traces or Traces()).get(
        "encode", lambda: export_module(EncodeGraph(model, manifest.gives_memory), example_source(), inputs, outputs)
    )
    graph = edited(traced, ranges)
    if shortlist is not None:
        plan, projection, words = shortlist
        add_shortlist(graph, projection, "source_ids", "source_keep", plan, words.weight, words.bias)
    return graph.model()


def write_onnx(
    model: TranslationModel,
    manifest: Manifest,
    graph: GraphFiles,
    input_ranges: Ranges,
    folder: Path,
    shortlist: ShortlistPlan | None = None,
    in_context: ContextExport | None = None,
    traces: Traces | None = None,
) -> None:
    """Write the files that `graph` names. `input_ranges`: see export.calibration; only int8 uses them. `shortlist` is
    needed if `graph` has a step over one, `in_context` if it has context. `traces`: of the same model. Raises
    InPlaceError, ScoreError."""
    traces = traces or Traces()
    ranges = input_ranges if graph.precision == "int8" else None
    projection, words = projection_for(ranges), Words.of(model)
    listed = (shortlist, projection, words) if shortlist is not None and graph.step_shortlist else None
    models = dict[str, onnx.ModelProto]()
    with SharedWeights(folder / f"weights.{graph.precision}.bin") as weights:
        models[graph.encode] = weights.outside(build_encode_graph(model, manifest, ranges, listed, traces))
        step = traces.get("step", lambda: export_step(model, manifest))
        models[graph.step] = weights.outside(build_step_graph(step, manifest, ranges, projection, words))
        if graph.step_shortlist:
            over_list = build_step_graph(step, manifest, ranges, projection, words, shortlist)
            models[graph.step_shortlist] = weights.outside(over_list)
        del step
        if graph.context is not None and in_context is not None:
            document, seen = in_context.document, in_context.ranges if graph.precision == "int8" else None
            built = (
                document_graphs(document, seen, traces)
                if document.on_encoder
                else decoder_context_graphs(document, manifest, seen, traces)
            )
            models |= {getattr(graph.context, kind): weights.outside(item) for kind, item in built.items()}
        if graph.align:
            aligning = build_align_graph(model, manifest, ranges, head_of(model, manifest), traces)
            models[graph.align] = weights.outside(aligning)
    steps = [(graph.step, graph.score), *([] if graph.context is None else [(graph.context.step, graph.context.score)])]
    models |= {score: score_graph(models[step]) for step, score in steps if score}
    if model.config.ngram is None:
        for name in filter(None, (graph.step, graph.step_shortlist)):
            attend_used_entries(models[name], manifest.ring_tensors)
    write_graphs(models, folder)


def write_sharing(models: Mapping[str, onnx.ModelProto], folder: Path, weights: str) -> None:
    """Write graphs under their file names, and equal weights of theirs once, in the file `weights`."""
    with SharedWeights(folder / weights) as shared:
        models = {name: shared.outside(model) for name, model in models.items()}
    write_graphs(models, folder)


def write_graphs(models: Mapping[str, onnx.ModelProto], folder: Path) -> None:
    """Write graphs under their file names."""
    for name, model in models.items():
        (folder / name).write_bytes(model.SerializeToString())

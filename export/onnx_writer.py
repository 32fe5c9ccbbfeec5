"""Write a model's ONNX graphs at fp32 or int8, their weights in one file."""

from collections.abc import Mapping
from pathlib import Path

import onnx

from export.onnx_graph.encode import build_encode_graph
from export.onnx_graph.linear import FloatProjection, Int8Projection, Projection
from export.onnx_graph.shortlist import ShortlistPlan
from export.onnx_graph.step import Words, build_step_graph, export_step
from export.shared_weights import share_weights
from model.context import ContextLayer
from model.translation_model import TranslationModel
from server.artifact import GraphFiles, Manifest

OUTPUT = "embedding"
"""The output projection among the calibrated ranges."""


def projection_for(ranges: Mapping[str, float] | None) -> Projection:
    return FloatProjection() if ranges is None else Int8Projection(ranges[OUTPUT])


def write_onnx(
    model: TranslationModel,
    manifest: Manifest,
    graph: GraphFiles,
    input_ranges: Mapping[str, float],
    folder: Path,
    shortlist: ShortlistPlan | None = None,
) -> None:
    """Write the files that `graph` names. `input_ranges`: see export.calibration; only int8 uses them. `shortlist` is
    needed if `graph` has a step over one. Raises InPlaceError."""
    ranges = input_ranges if graph.precision == "int8" else None
    projection, words = projection_for(ranges), Words.of(model)
    listed = (shortlist, projection, words.weight) if shortlist is not None and graph.step_shortlist else None
    step = export_step(model, manifest)
    models = {
        graph.encode: build_encode_graph(model, manifest, ranges, listed),
        graph.step: build_step_graph(step, manifest, ranges, projection, words),
    }
    if graph.step_shortlist:
        models[graph.step_shortlist] = build_step_graph(step, manifest, ranges, projection, words, shortlist)
    write_sharing(models, folder, f"weights.{graph.precision}.bin")


def write_context_step(
    model: TranslationModel, context: ContextLayer, manifest: Manifest, ranges: Mapping[str, float] | None, path: Path
) -> None:
    """The step of sentences that look at their document, on the decoder's side."""
    exported = export_step(model, manifest, context)
    step = build_step_graph(exported, manifest, ranges, projection_for(ranges), Words.of(model))
    path.write_bytes(step.SerializeToString())


def write_sharing(models: Mapping[str, onnx.ModelProto], folder: Path, weights: str) -> None:
    """Graphs by their file names, equal weights of theirs once in the file `weights`."""
    share_weights(list(models.values()), folder / weights)
    for name, model in models.items():
        (folder / name).write_bytes(model.SerializeToString())

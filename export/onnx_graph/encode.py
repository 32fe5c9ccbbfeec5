"""The encode graph: source ids to every decoder layer's cross-attention tensors."""

from collections.abc import Mapping

import onnx

from export.example_state import example_source
from export.graphs import EncodeGraph
from export.onnx_graph.edits import edited
from export.onnx_graph.exporter import Axes, export_module
from export.onnx_graph.linear import Projection
from export.onnx_graph.shortlist import ShortlistPlan, add_shortlist
from export.onnx_graph.step import Words
from model.translation_model import TranslationModel
from server.artifact.manifest import Manifest


def build_encode_graph(
    model: TranslationModel,
    manifest: Manifest,
    ranges: Mapping[str, float] | None,
    shortlist: tuple[ShortlistPlan, Projection, Words] | None = None,
) -> onnx.ModelProto:
    """source_ids, source_keep [batch, source] -> the manifest's source tensors and, where it has context, memory
    [batch, source, d]. With a shortlist, the projection and its words: the sentences' shortlists."""
    inputs: Axes = dict.fromkeys(("source_ids", "source_keep"), ("batch", "source"))
    outputs: Axes = dict.fromkeys(manifest.source_tensors, ("batch", None, "source"))
    if manifest.gives_memory:
        outputs = {**outputs, "memory": ("batch", "source")}
    exported = export_module(EncodeGraph(model, manifest.gives_memory), example_source(), inputs, outputs)
    graph = edited(exported, "encode", ranges)
    if shortlist is not None:
        plan, projection, words = shortlist
        add_shortlist(graph, projection, "source_ids", "source_keep", plan, words.weight, words.bias)
    return graph.model()

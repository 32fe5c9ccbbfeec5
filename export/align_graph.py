"""The align graph: which source pieces the pieces of a given translation come from, in one teacher-forced pass of the
decoder's lower layers. It reads the source tensors of these layers from the encode graph, and shares their weights."""

from collections.abc import Mapping

import onnx
import torch
from torch import Tensor, nn

from export.graphs import by_layer
from export.onnx_graph.exporter import Axes, Traceable, export_module
from export.onnx_graph.quantize import Traces, edited
from model.alignment import AlignmentHead, head_weights, layer_weights
from model.translation_model import TranslationModel
from server.artifact.manifest import Manifest
from server.artifact.signature import ALIGNMENT


class AlignGraph(nn.Module):
    """target_ids [batch, 1 + piece] from BOS on, source_keep [batch, source], and the cross-attention tensors that
    EncodeGraph gives -> alignment [batch, piece, source]; see model.alignment."""

    def __init__(self, model: TranslationModel, at: AlignmentHead) -> None:
        super().__init__()
        self.model, self.at = model, at

    def forward(self, target_ids: Tensor, source_keep: Tensor, sources: list[Tensor]) -> Tensor:
        names = [layer.cross_attention.memory_names for layer in self.model.decoder.decoder_layers()]
        cross = by_layer(sources, names)
        weights = layer_weights(self.model, cross, source_keep > 0, target_ids, self.at.layer)
        return head_weights(weights, self.at)


def align_module(model: TranslationModel, manifest: Manifest, at: AlignmentHead) -> Traceable:
    """AlignGraph with the arguments of `export_module`."""
    target, keep = torch.full((2, 4), 8), torch.ones(2, 5, dtype=torch.int32)
    size = (2, manifest.num_heads, 5, manifest.head_dim)
    sources = [torch.randn(size) for _ in manifest.source_tensors]
    read: Axes = dict.fromkeys(manifest.source_tensors, ("batch", None, "source"))
    inputs: Axes = {"target_ids": ("batch", "target"), "source_keep": ("batch", "source"), **read}
    outputs: Axes = {ALIGNMENT: ("batch", "piece", "source")}
    return AlignGraph(model, at), (target, keep, sources), inputs, outputs


def build_align_graph(
    model: TranslationModel,
    manifest: Manifest,
    ranges: Mapping[str, float] | None,
    at: AlignmentHead,
    traces: Traces | None = None,
) -> onnx.ModelProto:
    """At fp32, or with `ranges` (see export.calibration) at int8."""
    traced = (traces or Traces()).get("align", lambda: export_module(*align_module(model, manifest, at)))
    return edited(traced, ranges).model()

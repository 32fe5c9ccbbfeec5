"""Context on the decoder's side as graphs over flat tensors: a step with attention to the slot's document, the states
of a finished translation, and the attention weights of such a translation.

A sentence's states depend on its source and its translation only, never on context, so one teacher-forced pass over
the final ids computes them again, whatever search found the ids.
"""

import onnx
import torch
from torch import Tensor, nn

from export.calibration import Ranges
from export.document_graphs import at_precision, result_axes
from export.graphs import by_layer
from export.onnx_graph.exporter import Axes, Traceable
from export.onnx_graph.linear import projection_for
from export.onnx_graph.quantize import Traces
from export.onnx_graph.step import build_step_graph, export_step
from export.onnx_graph.words import Words
from export.paged_attention import Pages, attend_context_pages, example_pages, page_axes
from model.config import BOS_ID
from model.decoder import DecoderOutput
from model.document import DocumentModel
from model.translation_model import TranslationModel
from server.artifact.manifest import Manifest


class StatesGraph(nn.Module):
    """source_keep [batch, source], target_ids [batch, target] from BOS on without the last word, word_keep
    [batch, target] (1 where the step predicts a word), and the source tensors of the steps, layer by layer
    -> the stored tensors of each sentence: [batch, d] or [batch, target, d], in the order of the attention's
    `store_names`."""

    def __init__(self, model: DocumentModel) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, source_keep: Tensor, target_ids: Tensor, word_keep: Tensor, sources: list[Tensor]
    ) -> list[Tensor]:
        decoded = decoder_output_from(self.model.base, sources, source_keep, target_ids)
        store = self.model.context.project_store(decoded.query[None], decoded.state[None], word_keep[None] > 0)
        return [tensor[0] for tensor in store.tensors]


class TranslationAttendGraph(nn.Module):
    """source_keep [batch, source], target_ids [batch, target] from BOS on, the source tensors of the steps, and the
    pages of a document -> sentence weights [batch, heads, target, J], gate [batch, target, d] and word weights as
    ContextAttendGraph returns them, for every step of a translation."""

    def __init__(self, model: DocumentModel) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, source_keep: Tensor, target_ids: Tensor, sources: list[Tensor], document: list[Tensor]
    ) -> list[Tensor]:
        decoded = decoder_output_from(self.model.base, sources, source_keep, target_ids)
        pages = Pages.of(document)
        result = attend_context_pages(self.model.context, decoded.query, decoded.state, target_ids >= 0, pages)
        return [result.mixed.sentence_weights, result.mixed.gate, *result.word_means]


def decoder_output_from(
    base: TranslationModel, sources: list[Tensor], source_keep: Tensor, target_ids: Tensor
) -> DecoderOutput:
    names = [layer.cross_attention.memory_names for layer in base.decoder.decoder_layers()]
    return base.decoder_output_from(target_ids, by_layer(sources, names), source_keep > 0)


def example_translation(manifest: Manifest, batch: int = 2) -> tuple[Tensor, Tensor, list[Tensor]]:
    """source_keep, target_ids and the source tensors of the steps, for tracing."""
    keep, target = torch.ones(batch, 5, dtype=torch.int32), torch.full((batch, 6), 8)
    target[:, 0] = BOS_ID
    shape = (batch, manifest.num_heads, keep.shape[1], manifest.head_dim)
    return keep, target, [torch.randn(shape) for _ in manifest.source_tensors]


def translation_modules(model: DocumentModel, manifest: Manifest) -> dict[str, Traceable]:
    """`store` and `attend`, each with the arguments of `export_module`."""
    attention, width = model.context.attention, model.base.config.d_model
    keep, target, sources = example_translation(manifest)
    words = torch.ones_like(target, dtype=torch.int32)
    translation: Axes = {"source_keep": ("batch", "source"), "target_ids": ("batch", "target")}
    read: Axes = dict.fromkeys(manifest.source_tensors, ("batch", None, "source"))
    stored: Axes = {
        name: ("batch", "target") if name.startswith("word") else ("batch",) for name in attention.store_names
    }
    kept: Axes = {**translation, "word_keep": ("batch", "target"), **read}
    inputs: Axes = {**translation, **read, **page_axes(attention, "batch")}
    results = {name: axes for name, axes in result_axes(model, "target").items() if name != "new_memory"}
    pages = example_pages(attention, 2, width)
    return {
        "store": (StatesGraph(model), (keep, target, words, sources), kept, stored),
        "attend": (TranslationAttendGraph(model), (keep, target, sources, pages), inputs, results),
    }


def decoder_context_graphs(
    model: DocumentModel, manifest: Manifest, ranges: Ranges | None, traces: Traces | None = None
) -> dict[str, onnx.ModelProto]:
    """The graphs by the names of ContextGraphs: at fp32, or with `ranges` at int8. Raises InPlaceError."""
    traces = traces or Traces()
    step = traces.get("step", lambda: export_step(model.base, manifest, model.context), "step in context")
    return {
        **at_precision(translation_modules(model, manifest), ranges, traces),
        "step": build_step_graph(step, manifest, ranges, projection_for(ranges), Words.of(model.base)),
    }

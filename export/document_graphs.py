"""Context on the encoder's side as graphs over flat tensors; the sentence model's encode and step graphs do not change.

The server encodes a sentence, stores the result of `ContextEncodeGraph`, gathers the stored tensors of the document's
other sentences into [batch, J, ...], gets from `ContextAttendGraph` the encoder output that the decoder attends to, and
from `ProjectGraph` the cross-attention tensors. J and W are free axes.
"""

import functools
from collections.abc import Mapping

import onnx
import torch
from torch import Tensor, nn

from export.calibration import Ranges
from export.onnx_graph.exporter import Axes, Traceable, export_module
from export.onnx_graph.quantize import Traces, edited
from export.paged_attention import Pages, attend_context_pages, example_pages, page_axes, page_names
from export.pruned_attention import attend_used
from export.signature import encode_signature
from model.attention.selective import ContextAttention, HierarchicalAttention
from model.config import ConfigError
from model.context import Store
from model.document import DocumentModel
from model.translation_model import TranslationModel


class ContextEncodeGraph(nn.Module):
    """memory [sentence, W, d], word_keep [sentence, W] (no EOS) -> the stored tensors of each sentence: [sentence, d]
    or [sentence, W, d], in the order of the attention's `store_names`."""

    def __init__(self, model: DocumentModel) -> None:
        super().__init__()
        self.context = encoder_side(model).context

    def forward(self, encoder_output: Tensor, word_keep: Tensor) -> list[Tensor]:
        store = self.context.project_store(encoder_output[None], encoder_output[None], word_keep[None] > 0)
        return [tensor[0] for tensor in store.tensors]


class ContextAttendGraph(nn.Module):
    """The encoder output that the decoder attends to, and the attention weights.

    memory [batch, source, d], keep [batch, source], and the document's pages in the order of `page_inputs`. Returns
    encoder output [batch, source, d], sentence weights [batch, heads, source, J], gate [batch, source, d] and, except
    for flat-sentence, word weights: for every page the mean over the source, [batch, heads, J of the page, W of the
    page]. Padded positions have no context: their encoder output is unchanged, their weights are zero, their gate is
    one."""

    def __init__(self, model: DocumentModel) -> None:
        super().__init__()
        self.context = encoder_side(model).context

    def forward(self, encoder_output: Tensor, keep: Tensor, document: list[Tensor]) -> list[Tensor]:
        result = attend_context_pages(self.context, encoder_output, encoder_output, keep > 0, Pages.of(document))
        return [result.mixed.state, result.mixed.sentence_weights, result.mixed.gate, *result.word_means]


class PrunedAttendGraph(nn.Module):
    """ContextAttendGraph and ProjectGraph in one, for hierarchical attention in long documents: the words of sentences
    without weight are skipped (the only graph whose computation depends on the data).

    Takes what ContextAttendGraph takes. Returns every layer's cross-attention tensors, flat, and means over the source:
    of sentence weights [batch, heads, J], and of the gate [batch].
    """

    def __init__(self, model: DocumentModel) -> None:
        super().__init__()
        self.model = encoder_side(model)
        assert isinstance(model.context.attention, HierarchicalAttention)

    def forward(self, encoder_output: Tensor, keep: Tensor, document: list[Tensor]) -> list[Tensor]:
        pages, context = Pages.of(document), self.model.context
        attention = context.attention
        assert isinstance(attention, HierarchicalAttention)
        visible = (keep > 0)[:, :, None] & pages.visible()[:, None]
        mixed = context.mix(
            attend_used(attention, encoder_output, pages, visible, pages.decay(context)), encoder_output, visible
        )
        length = keep.sum(dim=1).to(encoder_output.dtype)
        mean_weights = mixed.sentence_weights.sum(dim=2) / length[:, None, None]
        gate = (mixed.gate.mean(dim=-1) * keep).sum(dim=1) / length
        return [*projected(self.model.base, mixed.state), mean_weights, gate]


class NearGraph(nn.Module):
    """The results of PrunedAttendGraph for few sentences, which are in one page without gathering.

    memory [batch, source, d] without padding, distance [batch, J] (0: not visible), word_keep [batch, J, W] and the
    stored tensors.
    """

    def __init__(self, model: DocumentModel) -> None:
        super().__init__()
        self.model = encoder_side(model)

    def forward(
        self, encoder_output: Tensor, distance: Tensor, word_keep: Tensor, tensors: list[Tensor]
    ) -> list[Tensor]:
        store = Store(tuple(tensors), word_keep > 0)
        result = self.model.context(encoder_output, encoder_output, store, distance[:, None])
        mean_weights = result.sentence_weights.mean(dim=2)
        return [*projected(self.model.base, result.state), mean_weights, result.gate.mean(dim=(1, 2))]


class ProjectGraph(nn.Module):
    """memory [batch, source, d] -> every layer's cross-attention tensors, flat: EncodeGraph after its encoder."""

    def __init__(self, model: DocumentModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, encoder_output: Tensor) -> list[Tensor]:
        return projected(self.model.base, encoder_output)


def projected(base: TranslationModel, encoder_output: Tensor) -> list[Tensor]:
    return [tensor for layer in base.decoder.project_source(encoder_output) for tensor in layer]


def encoder_side(model: DocumentModel) -> DocumentModel:
    if not model.on_encoder:
        raise ConfigError(
            "these graphs are for context on the encoder's side; on the decoder's side the step graph itself attends "
            "to the document: use export.decoder_context, or train with layer.side 'encoder'"
        )
    return model


def attend_outputs(model: DocumentModel) -> list[str]:
    """Names of ContextAttendGraph's results."""
    has_words = model.config.attention != "flat-sentence"
    return ["new_memory", "sentence_weights", "gate", *(page_names("word_weights") if has_words else [])]


def attend_example(model: DocumentModel) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Arguments of ContextAttendGraph."""
    batch, source, width = 2, 5, model.base.config.d_model
    keep = torch.ones(batch, source, dtype=torch.int32)
    return torch.randn(batch, source, width), keep, example_pages(model.context.attention, batch, width)


def near_example(model: DocumentModel) -> tuple[Tensor, Tensor, Tensor, list[Tensor]]:
    """Arguments of NearGraph."""
    batch, sentences, words, width = 2, 3, 4, model.base.config.d_model
    places = torch.ones(batch, sentences, words, dtype=torch.int32)
    sizes = {
        name: places.shape if name.startswith("word") else places.shape[:2]
        for name in model.context.attention.store_names
    }
    tensors = [torch.randn(*size, width) for size in sizes.values()]
    return torch.randn(batch, 5, width), places[..., 0], places, tensors


def near_axes(attention: ContextAttention) -> Axes:
    """The free axes of NearGraph's arguments, by name."""
    names = ("sentence_keep", "word_keep", *attention.store_names)
    stored: Axes = {name: ("batch", "J", "W") if name.startswith("word") else ("batch", "J") for name in names}
    return {"memory": ("batch", "source"), **stored}


def result_axes(model: DocumentModel, length: str) -> Axes:
    """The free axes of the results of `attend_outputs`; `length` names the axis of queries."""
    pages = enumerate(page_names("word_weights"))
    free: Axes = {
        **dict.fromkeys(("new_memory", "gate"), ("batch", length)),
        "sentence_weights": ("batch", None, length, "J"),
        **{name: ("batch", None, f"J{page}", f"W{page}") for page, name in pages},
    }
    return {name: free[name] for name in attend_outputs(model)}


def document_modules(model: DocumentModel) -> dict[str, Traceable]:
    """The modules by the names of ContextGraphs, each with the arguments of `export_module`. `pruned` for hierarchical
    attention only."""
    attention = model.context.attention
    encoder_output, *_ = attend_example(model)
    ones = torch.ones(encoder_output.shape[:2], dtype=torch.int32)
    words: Axes = dict.fromkeys(("memory", "word_keep"), ("sentence", "W"))
    stored: Axes = {
        name: ("sentence", "W") if name.startswith("word") else ("sentence",) for name in attention.store_names
    }
    inputs = {**dict.fromkeys(("memory", "keep"), ("batch", "source")), **page_axes(attention, "batch")}
    results = result_axes(model, "source")
    cross: Axes = dict.fromkeys(encode_signature(model.base).output_names, ("batch", None, "source"))
    pruned_results: Axes = {**cross, "looked": ("batch", None, "J"), "gate": ("batch",)}
    modules: dict[str, Traceable] = {
        "store": (ContextEncodeGraph(model), (encoder_output, ones), words, stored),
        "attend": (ContextAttendGraph(model), attend_example(model), inputs, results),
        "project": (ProjectGraph(model), (encoder_output,), {"memory": ("batch", "source")}, cross),
        "near": (NearGraph(model), near_example(model), near_axes(attention), pruned_results),
    }
    if isinstance(attention, HierarchicalAttention):
        modules["pruned"] = (PrunedAttendGraph(model), attend_example(model), inputs, pruned_results)
    return modules


def document_graphs(
    model: DocumentModel, ranges: Ranges | None, traces: Traces | None = None
) -> dict[str, onnx.ModelProto]:
    """The graphs of `document_modules`: at fp32, or with `ranges` at int8."""
    return at_precision(document_modules(model), ranges, traces)


def at_precision(
    modules: Mapping[str, Traceable],
    ranges: Ranges | None,
    traces: Traces | None,
) -> dict[str, onnx.ModelProto]:
    """Name -> graph of a module, given with the arguments of `export_module`."""
    traces = traces or Traces()
    return {
        kind: edited(traces.get(kind, functools.partial(export_module, *arguments)), ranges).model()
        for kind, arguments in modules.items()
    }

"""Context on the encoder's side as graphs over flat tensors: the sentence model's encoder and step stay as they are.

The server encodes a sentence as always, keeps what `ContextEncodeGraph` makes of it, gathers what it kept of the
document's other sentences into [batch, J, ...], asks `ContextAttendGraph` for the memory that the decoder is to read,
and has `ProjectGraph` turn that into cross-attention tensors. Nothing in the graphs depends on data; J and W are free.
"""

import warnings
from pathlib import Path

import torch
from torch import Tensor, nn

from export.torchscript import trace
from model.config import ConfigError
from model.context import Store
from model.document import DocumentModel

ONNX_OPSET = 17


class MemoryGraph(nn.Module):
    """source_ids, source_keep [batch, source] -> memory [batch, source, d]: EncodeGraph before its projections."""

    def __init__(self, model: DocumentModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, source_ids: Tensor, source_keep: Tensor) -> Tensor:
        return self.model.base.encode(source_ids, source_keep > 0)


class ContextEncodeGraph(nn.Module):
    """memory [sentence, W, d], word_keep [sentence, W] (no EOS) -> what is stored of each sentence: [sentence, d] or
    [sentence, W, d], in the order of the attention's `store_names`."""

    def __init__(self, model: DocumentModel) -> None:
        super().__init__()
        self.context = encoder_side(model).context

    def forward(self, memory: Tensor, word_keep: Tensor) -> list[Tensor]:
        store = self.context.project_store(memory[None], memory[None], word_keep[None] > 0)
        return [tensor[0] for tensor in store.tensors]


class ContextAttendGraph(nn.Module):
    """The memory that the decoder reads, and where it comes from.

    memory [batch, source, d], keep [batch, source], sentence_keep [batch, J], word_keep [batch, J, W], store tensors
    with [batch, J] in front. Returns memory [batch, source, d], sentence weights [batch, heads, source, J], word
    weights [batch, heads, source, J, W] (but for flat-sentence, where words have none) and gate [batch, source, d].
    Padded positions see no context: their memory stays, their weights are zero, their gate is one.
    """

    def __init__(self, model: DocumentModel) -> None:
        super().__init__()
        self.context = encoder_side(model).context

    def forward(
        self, memory: Tensor, keep: Tensor, sentence_keep: Tensor, word_keep: Tensor, store: list[Tensor]
    ) -> list[Tensor]:
        visible = (keep > 0)[:, :, None] & (sentence_keep > 0)[:, None, :]
        result = self.context(memory, memory, Store(tuple(store), word_keep > 0), visible)
        weights = [result.sentence_weights, result.word_weights]
        return [result.state, *(tensor for tensor in weights if tensor is not None), result.gate]


class ProjectGraph(nn.Module):
    """memory [batch, source, d] -> every layer's cross-attention tensors, flat: EncodeGraph after its encoder."""

    def __init__(self, model: DocumentModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, memory: Tensor) -> list[Tensor]:
        return [tensor for layer in self.model.base.decoder.project_source(memory) for tensor in layer]


def encoder_side(model: DocumentModel) -> DocumentModel:
    if not model.on_encoder:
        raise ConfigError(
            "document graphs are for context on the encoder's side; on the decoder's side the step graph itself would "
            "look at the store: train with layer.side 'encoder' to export"
        )
    return model


def attend_outputs(model: DocumentModel) -> list[str]:
    """Names of ContextAttendGraph's results."""
    has_words = model.config.attention != "flat-sentence"
    return ["new_memory", "sentence_weights", *(["word_weights"] if has_words else []), "gate"]


def attend_example(model: DocumentModel) -> tuple[Tensor, Tensor, Tensor, Tensor, list[Tensor]]:
    """Arguments of ContextAttendGraph of sizes larger than one, so that no axis is taken for a constant."""
    batch, source, sentences, words = 2, 5, 3, 4
    width = model.base.config.d_model
    keep, sentence_keep = (torch.ones(batch, length, dtype=torch.int32) for length in (source, sentences))
    shapes = {"sentence": (batch, sentences, width), "word": (batch, sentences, words, width)}
    store = [torch.randn(shapes[name.split("_")[0]]) for name in model.context.attention.store_names]
    word_keep = torch.ones(batch, sentences, words, dtype=torch.int32)
    return torch.randn(batch, source, width), keep, sentence_keep, word_keep, store


def write_document_onnx(model: DocumentModel, store: Path, attend: Path, project: Path) -> None:
    """The three graphs by torch's exporter, at fp32."""
    names = model.context.attention.store_names
    memory, keep, sentence_keep, word_keep, tensors = attend_example(model)
    ones = torch.ones(memory.shape[:2], dtype=torch.int32)
    axes = {"memory": {0: "sentence", 1: "W"}, "word_keep": {0: "sentence", 1: "W"}}
    axes |= {name: {0: "sentence"} | ({1: "W"} if name.startswith("word") else {}) for name in names}
    export_onnx(ContextEncodeGraph(model), (memory, ones), ["memory", "word_keep"], list(names), axes, store)

    inputs = ["memory", "keep", "sentence_keep", "word_keep", *names]
    axes = {name: {0: "batch", 1: "J"} for name in ("sentence_keep", *names)}
    axes |= {name: {0: "batch", 1: "source"} for name in ("memory", "keep", "new_memory", "gate")}
    axes |= {name: {0: "batch", 1: "J", 2: "W"} for name in ("word_keep", *names) if name.startswith("word")}
    axes["sentence_weights"] = {0: "batch", 2: "source", 3: "J"}
    axes["word_weights"] = axes["sentence_weights"] | {4: "W"}
    outputs = attend_outputs(model)
    used = {name: axis for name, axis in axes.items() if name in (*inputs, *outputs)}
    arguments = (memory, keep, sentence_keep, word_keep, tensors)
    export_onnx(ContextAttendGraph(model), arguments, inputs, outputs, used, attend)

    cross = [
        f"cross_{index}_{name}"
        for index, layer in enumerate(model.base.decoder.decoder_layers())
        for name in layer.cross_attention.memory_names
    ]
    axes = {"memory": {0: "batch", 1: "source"}} | {name: {0: "batch", 2: "source"} for name in cross}
    export_onnx(ProjectGraph(model), (memory,), ["memory"], cross, axes, project)


def export_onnx(
    module: nn.Module,
    arguments: tuple[object, ...],
    inputs: list[str],
    outputs: list[str],
    axes: dict[str, dict[int, str]],
    path: Path,
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch announces the retirement of this exporter
        torch.onnx.export(
            module.eval(),
            arguments,
            str(path),
            input_names=inputs,
            output_names=outputs,
            dynamic_axes=axes,
            opset_version=ONNX_OPSET,
            dynamo=False,
        )


def write_document_torchscript(model: DocumentModel, store: Path, attend: Path, project: Path) -> None:
    """The three graphs, traced."""
    memory, *rest = attend_example(model)
    ones = torch.ones(memory.shape[:2], dtype=torch.int32)
    trace(ContextEncodeGraph(model), (memory, ones), store)
    trace(ContextAttendGraph(model), (memory, *rest), attend)
    trace(ProjectGraph(model), (memory,), project)

"""Write the general graphs as ONNX: any model, fp32, exported from the PyTorch modules of export.graphs.

PyTorch's tracing exporter writes the encoder and the decoder; the choice among candidates is the one that
export.onnx_graph builds by hand, appended to it. int8 is left to the hand-built graphs: it would need one fixed range
for every activation of every mechanism, or a sentence's translation would depend on its batch.
"""

import io
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx
import torch
from onnx import compose
from torch import Tensor, nn

from export.graphs import NEVER, EncodeGraph, StepGraph
from export.onnx_graph.builder import IR_VERSION, OPSET, GraphBuilder, opsets
from export.onnx_graph.candidates import best_candidates, padded_vocabulary
from export.paged_attention import example_pages, page_axes
from export.torchscript import example_source, example_state, step_arguments
from model.context import ContextLayer
from model.translation_model import TranslationModel
from server.artifact import Manifest

STEP_AXES = {
    "is_row": ("slot", "beam"),
    "position": ("slot",),
    "own_key": ("beam", "entry"),
    "write_index": ("slot", "beam"),
    "key_age": ("entry",),
    "source_keep": ("slot", "source"),
    "token": ("slot", "beam"),
    "parent": ("slot", "beam"),
    "score": ("slot", "beam"),
    "ancestry": ("slot", "beam", "entry"),
}
"""StepGraph's tensors but rings and sources, in its order, with their free axes (see server/artifact.py)."""

Axes = dict[str, tuple[str | None, ...]]


class InPlaceError(ValueError):
    """A step graph that would read a ring after it was overwritten."""


class StepDecoder(nn.Module):
    """StepGraph up to the log-probabilities, their last axis padded for export.onnx_graph.candidates."""

    def __init__(self, model: TranslationModel, context: ContextLayer | None = None) -> None:
        super().__init__()
        self.graph = StepGraph(model, context)
        self.padding = padded_vocabulary(model.config.vocab_size) - model.config.vocab_size

    def forward(
        self,
        shared: list[Tensor],
        rows: list[Tensor],
        rings: list[Tensor],
        sources: list[Tensor],
        document: list[Tensor] | None = None,
    ) -> list[Tensor]:
        log_probability, *rest = self.graph.decode(shared, rows, rings, sources, document)
        if self.padding:
            log_probability = nn.functional.pad(log_probability, (0, self.padding), value=NEVER)
        return [log_probability, *rest]


def export_module(module: nn.Module, arguments: tuple[object, ...], inputs: Axes, outputs: Axes) -> onnx.ModelProto:
    """Trace a module; `inputs` and `outputs` name its flat tensors, in order, and their free axes."""
    free = {
        name: {index: axis for index, axis in enumerate(axes) if axis is not None}
        for name, axes in (inputs | outputs).items()
    }
    buffer: Any = io.BytesIO()  # taken by the tracing exporter, though torch's type hints know files only
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")  # the exporter announces its retirement; it needs no further package
        torch.onnx.export(
            module.eval(),
            arguments,
            buffer,
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_axes=free,
            opset_version=OPSET,
            dynamo=False,
        )
    return with_versions(onnx.load_from_string(buffer.getvalue()))


def with_versions(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model, declaring what the hand-built graphs declare."""
    model.ir_version, model.producer_name = IR_VERSION, "ringmt"
    model.ClearField("producer_version")
    del model.opset_import[:]
    model.opset_import.extend(opsets())
    return model


def general_encode_graph(model: TranslationModel, manifest: Manifest) -> onnx.ModelProto:
    tensors: Axes = dict.fromkeys(manifest.source_tensors, ("batch", None, "source"))
    inputs: Axes = dict.fromkeys(("source_ids", "source_keep"), ("batch", "source"))
    if manifest.gives_memory:
        tensors["memory"] = ("batch", "source")
    return export_module(EncodeGraph(model, manifest.gives_memory), example_source(), inputs, tensors)


def general_step_graph(
    model: TranslationModel, manifest: Manifest, context: ContextLayer | None = None
) -> onnx.ModelProto:
    """With `context` (on the decoder's side) every slot has a document."""
    rings: Axes = dict.fromkeys(manifest.ring_tensors, ("slot", None, "entry"))
    sources: Axes = dict.fromkeys(manifest.source_tensors, ("slot", None, "source"))
    outputs: Axes = {"log_probability": ("slot", "beam"), "next_ancestry": STEP_AXES["ancestry"]}
    outputs |= {f"next_{name}": axes for name, axes in rings.items()}
    arguments: tuple[list[Tensor], ...] = step_arguments(example_state(manifest, 3, 2, 5))
    inputs = STEP_AXES | rings | sources
    if context is not None:
        arguments = (*arguments, example_pages(context.attention, 3, model.config.d_model))
        inputs |= page_axes(context.attention, "slot")
    decoder = export_module(StepDecoder(model, context), arguments, inputs, outputs)
    drop_unused_inputs(decoder)
    give_out_as_written(decoder, manifest.ring_tensors)
    check_in_place(decoder, manifest.ring_tensors)
    candidates = candidate_graph(padded_vocabulary(model.config.vocab_size))
    return with_versions(compose.merge_models(decoder, candidates, io_map=[("log_probability", "log_probability")]))


def candidate_graph(vocabulary: int) -> onnx.ModelProto:
    """log_probability [slot, beam, vocabulary] and score to the candidate outputs and the following rows."""
    graph = GraphBuilder("candidates")
    log_probability = graph.input("log_probability", "float32", ["slot", "beam", vocabulary])
    score = graph.input("score", "float32", ["slot", "beam"])
    is_row = graph.input("is_row", "bool", ["slot", "beam"])
    graph.input("first_row", "int64", ["slot", 1])
    best_candidates(graph, log_probability, score, is_row, vocabulary)
    return graph.model()


def drop_unused_inputs(model: onnx.ModelProto) -> None:
    """Inputs that no node reads: mechanisms differ in what they ask for."""
    read = {name for node in model.graph.node for name in node.input}
    for tensor in [tensor for tensor in model.graph.input if tensor.name not in read]:
        model.graph.input.remove(tensor)


def give_out_as_written(model: onnx.ModelProto, rings: Sequence[str]) -> None:
    """Let ScatterND itself give a ring out where a Cast stands between: a mechanism that asks for float32 is traced as
    one, though rings are float32."""
    nodes = model.graph.node
    for ring in rings:
        casts = {node.input[0]: node for node in nodes if node.op_type == "Cast" and node.output[0] == f"next_{ring}"}
        for writer in [node for node in nodes if node.op_type == "ScatterND" and node.input[0] == ring]:
            written = writer.output[0]
            if written in casts:
                nodes.remove(casts[written])
                writer.output[0] = f"next_{ring}"
                replace_input(model, written, f"next_{ring}")


def replace_input(model: onnx.ModelProto, old: str, new: str) -> None:
    for node in model.graph.node:
        for index, name in enumerate(node.input):
            if name == old:
                node.input[index] = new


def check_in_place(model: onnx.ModelProto, rings: Sequence[str]) -> None:
    """Raise InPlaceError unless every ring is read by nothing but the ScatterND that gives it out again.

    The server binds a ring and its `next_` output to the same memory. ScatterND then copies nothing and writes its
    entries; whatever else reads the ring would see them or not, depending on the order of nodes. (Shape reads no data.)
    """
    for ring in rings:
        readers = [node for node in model.graph.node if ring in node.input and node.op_type != "Shape"]
        wanted = [(node.op_type, node.input[0], list(node.output)) for node in readers]
        if wanted != [("ScatterND", ring, [f"next_{ring}"])]:
            kinds = ", ".join(node.op_type for node in readers) or "nothing"
            raise InPlaceError(
                f"the step graph reads {ring} in {kinds}: a mechanism must attend to the rings as written in this step "
                f"(export.graphs.write_ring), never to the ring before it"
            )


def write_general_onnx(model: TranslationModel, manifest: Manifest, encode: Path, step: Path) -> None:
    """Write both graphs at fp32. Raises InPlaceError."""
    encode.write_bytes(general_encode_graph(model, manifest).SerializeToString())
    step.write_bytes(general_step_graph(model, manifest).SerializeToString())

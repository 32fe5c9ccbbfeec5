"""Writes a model's TorchScript graphs."""

import dataclasses
from pathlib import Path

import torch
from torch import Tensor

from export.align_graph import align_module
from export.alignment import head_of
from export.decoder_context import translation_modules
from export.document_graphs import document_modules
from export.example_state import example_source, example_state
from export.graphs import EncodeGraph, ScoreGraph, StepGraph
from export.listed_step import FlatListedStep, listed_tensors, widening_tensors
from export.onnx_graph.exporter import Axes, Traceable
from export.onnx_graph.shortlist import ShortlistPlan
from export.paged_attention import example_pages, page_axes
from export.signature import score_signature, traced_signature
from export.torchscript import FlatStep, TraceWriter, at_half, described
from model.context import ContextLayer
from model.document import DocumentModel
from model.translation_model import TranslationModel
from server.artifact.manifest import GraphFiles, Manifest
from server.artifact.signature import Signature


def write_torchscript(
    model: TranslationModel,
    manifest: Manifest,
    graph: GraphFiles,
    folder: Path,
    document: DocumentModel | None = None,
    shortlist: ShortlistPlan | None = None,
) -> None:
    """Write the files that `graph` names, whose argument and result are lists of tensors in the order of their
    signatures. `document` is needed if `graph` has context, `shortlist` if it has a step over one. Traced at sizes
    larger than one, so that tracing makes no axis a constant."""
    traces = TraceWriter(folder)
    traces.write_module(graph.encode, encode_module(model, manifest), "encode")
    write_step(traces, graph.step, model, manifest, owner="step")
    if graph.step_shortlist and shortlist is not None:
        write_listed_step(traces, graph.step_shortlist, model, manifest, shortlist)
    if graph.score:
        write_step(traces, graph.score, model, manifest, scores=True)
    if graph.align:
        traces.write_module(graph.align, align_module(model, manifest, head_of(model, manifest)))
    if graph.context is not None and document is not None:
        modules = document_modules(document) if document.on_encoder else translation_modules(document, manifest)
        for kind, module in modules.items():
            if file := getattr(graph.context, kind):
                traces.write_module(file, module)
        for file, scores in ((graph.context.step, False), (graph.context.score, True)):
            if file:
                write_step(traces, file, model, manifest, document.context, scores)


def encode_module(model: TranslationModel, manifest: Manifest) -> Traceable:
    """EncodeGraph with the arguments of `export_module`."""
    inputs: Axes = dict.fromkeys(("source_ids", "source_keep"), ("batch", "source"))
    outputs: Axes = dict.fromkeys(manifest.source_tensors, ("batch", None, "source"))
    if manifest.gives_memory:
        outputs = {**outputs, "memory": ("batch", "source")}
    return EncodeGraph(model, manifest.gives_memory), example_source(), inputs, outputs


def write_step(
    traces: TraceWriter,
    file: str,
    model: TranslationModel,
    manifest: Manifest,
    context: ContextLayer | None = None,
    scores: bool = False,
    owner: str = "",
) -> None:
    """A step, or with `scores` one that scores; with `context` (on the decoder's side) every slot has a document."""
    planned = traced_signature(manifest.signatures[manifest.graphs[0].step])
    signature = score_signature(planned) if scores else planned
    arguments = step_arguments(manifest, signature)
    if context is not None:
        pages = example_pages(context.attention, 3, model.config.d_model)
        read = described(page_axes(context.attention, "slot"), pages)
        signature = dataclasses.replace(signature, inputs=(*signature.inputs, *read))
        arguments += map(at_half, pages)
    graph = (ScoreGraph if scores else StepGraph)(model, context)
    traces.write(file, FlatStep(graph, signature), arguments, signature, owner)


def write_listed_step(
    traces: TraceWriter, file: str, model: TranslationModel, manifest: Manifest, plan: ShortlistPlan
) -> None:
    """A step over a shortlist, with its other methods."""
    planned = traced_signature(manifest.signatures[manifest.graphs[0].step])
    listed, slots, beam = listed_tensors(model, plan), 3, 2
    wide = widening_tensors(model) if plan.widening is not None else ()
    signature = Signature((*planned.inputs, *listed), (*planned.outputs, *wide))
    module, (source, _) = FlatListedStep(model, plan, signature).eval(), example_source()
    methods: dict[str, list[Tensor]] = {"lists": [source, torch.ones_like(source, dtype=torch.int32)]}
    with torch.no_grad():
        lists = module.lists([source[:1].repeat(slots, 1), methods["lists"][1][:1].repeat(slots, 1)])
    arguments = step_arguments(manifest, planned)
    if wide:
        given = dict(zip(planned.input_names, arguments, strict=True))
        state = torch.zeros(slots, beam, model.config.d_model).bfloat16()
        methods["widen"] = [state, given["score"], given["is_row"]]
    traces.write(file, module, [*arguments, *map(at_half, lists)], signature, methods=methods)


def step_arguments(manifest: Manifest, signature: Signature) -> list[Tensor]:
    """The tensors of a step without documents, for tracing."""
    state = example_state(manifest, 3, 2, 5)
    arrays = {**state.inputs(0), **state.arrays}
    return [
        torch.from_numpy(arrays[tensor.name]).to(torch.bfloat16 if tensor.name in state.arrays else None)
        for tensor in signature.inputs
    ]

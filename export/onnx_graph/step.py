"""The step graph: one token for every row, and the best continuations of every slot.

Beams are query positions: a slot's rows attend to the slot's source and ring, nothing is repeated per beam. The ring
never moves; `ancestry` marks the entries of a row's own past (see server/artifact/signature.py for all tensors).
"""

from collections.abc import Mapping, Sequence

import onnx
import torch
from torch import Tensor

from export.example_state import example_state
from export.graphs import StepStates
from export.onnx_graph.builder import GraphBuilder
from export.onnx_graph.candidates import best_candidates, choose, give_candidates
from export.onnx_graph.exporter import Axes, export_module
from export.onnx_graph.linear import Projection
from export.onnx_graph.quantize import edited
from export.onnx_graph.shortlist import ShortlistPlan, project_shortlist
from export.onnx_graph.widening import unsure_slots, widened
from export.onnx_graph.words import Words
from export.paged_attention import example_pages, page_axes
from export.signature import role_of
from model.context import ContextLayer
from model.translation_model import TranslationModel
from server.artifact.manifest import Manifest
from server.artifact.signature import STATE

STEP_AXES: Axes = {
    "token": ("slot", "beam"),
    "parent": ("slot", "beam"),
    "position": ("slot",),
    "ancestry": ("slot", "beam", "entry"),
    "own_key": ("slot", "beam", "entry"),
    "kept_key": ("slot", None, "entry"),
    "key_age": ("slot", "entry"),
    "write_index": ("slot", "beam"),
    "first_row": ("slot",),
    "source_keep": ("slot", "source"),
}
"""StepStates' tensors but the past, sources and documents, in its order, with their free axes."""


def export_step(model: TranslationModel, manifest: Manifest, context: ContextLayer | None = None) -> onnx.ModelProto:
    """The step before the selection of candidates. With `context` (on the decoder's side) every slot has a
    document."""
    past: Axes = {
        name: ("slot", "beam") if role_of(name) == "recurrent" else ("slot", None, "entry")
        for name in manifest.past_tensors
    }
    sources: Axes = dict.fromkeys(manifest.source_tensors, ("slot", None, "source"))
    inputs: Axes = {**STEP_AXES, **past, **sources}
    outputs: Axes = {STATE: ("slot", "beam"), "next_ancestry": STEP_AXES["ancestry"]}
    outputs = {**outputs, **{f"next_{name}": axes for name, axes in past.items()}}
    arguments = state_arguments(manifest)
    if context is not None:
        arguments = (*arguments, example_pages(context.attention, 3, model.config.d_model))
        inputs = {**inputs, **page_axes(context.attention, "slot")}
    return export_module(StepStates(model, context), arguments, inputs, outputs)


def state_arguments(manifest: Manifest) -> tuple[Tensor | list[Tensor], ...]:
    """Arguments of StepStates for tracing."""
    state = example_state(manifest, 3, 2, 5)
    rows = state.current
    flat = (
        rows.token, rows.parent, state.position, rows.ancestry, state.own_key, state.kept_key, state.key_age,
        state.write_index, state.first_row, state.source_keep,
    )  # fmt: skip
    groups = (manifest.past_tensors, manifest.source_tensors)
    lists = [[torch.from_numpy(state.arrays[name]) for name in group] for group in groups]
    return (*(torch.from_numpy(array) for array in flat), *lists)


def build_step_graph(
    traced: GraphBuilder,
    manifest: Manifest,
    ranges: Mapping[str, float] | None,
    projection: Projection,
    words: Words,
    shortlist: ShortlistPlan | None = None,
) -> onnx.ModelProto:
    """The graph of `export_step` with the projection to words and the choice among them; with a shortlist among each
    slot's listed words only. Raises InPlaceError."""
    graph = edited(traced, ranges)
    graph.drop_output(STATE)
    return choose_words(graph, manifest, projection, words, shortlist)


def choose_words(
    graph: GraphBuilder, manifest: Manifest, projection: Projection, words: Words, shortlist: ShortlistPlan | None
) -> onnx.ModelProto:
    """The finished graph of a step that has the tensor STATE. Raises InPlaceError."""
    logits, size, listed = project(graph, projection, words, shortlist)
    log_probability = graph.op("LogSoftmax", logits, axis=-1)  # [slot, beam, size]
    score = graph.input("score", "float32", ["slot", "beam"])
    is_row = graph.input("is_row", "bool", ["slot", "beam"])
    graph.input("first_row", "int64", ["slot", 1])
    if shortlist is not None and shortlist.widening is not None:
        candidates = choose(graph, log_probability, score, size, "first_row", listed)
        unsure = unsure_slots(graph, log_probability, score)
        candidates = widened(graph, projection, words, score, unsure, candidates)
        give_candidates(graph, *candidates, is_row, words.ids.eos)
    else:
        best_candidates(graph, log_probability, score, is_row, size, words.ids.eos, listed)
    step = graph.model()
    check_in_place(step, manifest.ring_tensors)
    return step


def project(
    graph: GraphBuilder, projection: Projection, words: Words, shortlist: ShortlistPlan | None
) -> tuple[str, int, str]:
    """Logits of the state, their number, and the tensor of their word ids, "" where all words are scored."""
    if shortlist is not None:
        logits, listed = project_shortlist(graph, projection, STATE, shortlist, words.weight, words.bias)
        return logits, shortlist.size, listed
    weight, bias = words.padded()
    return projection.apply(graph, STATE, weight, bias), len(weight), ""


class InPlaceError(ValueError):
    """A step graph that would read a ring after it was overwritten."""


def check_in_place(model: onnx.ModelProto, rings: Sequence[str]) -> None:
    """Raise InPlaceError unless every ring is read by nothing but the ScatterND whose output is its `next_` tensor.

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

"""Write the general graphs as TorchScript (traced; nothing in them depends on data)."""

import warnings
from pathlib import Path

import torch
from torch import Tensor, nn

from export.graphs import EncodeGraph, StepGraph
from export.signature import traced
from model.translation_model import TranslationModel
from server.artifact import Manifest
from server.backends.arrays import Array
from server.backends.base import batch_sizes
from server.backends.memory import HostMemory, remembered
from server.backends.state import DecoderState
from server.signature import Signature

SHARED = ("is_row", "position", "own_key", "write_index", "key_age", "source_keep")
ROWS = ("token", "parent", "score", "ancestry")
"""StepGraph's groups, before rings and sources."""


class ExampleState(DecoderState):
    """A state whose memory lies in NumPy arrays, by name."""

    def __init__(self, manifest: Manifest, slots: int, beam: int, source_length: int) -> None:
        signature = manifest.signatures[manifest.graphs[0].step]
        sizes = batch_sizes(manifest, slots, beam, source_length)
        host = HostMemory(
            [one for one in remembered(signature) if one.name.startswith(("ring.", "source."))], sizes, {}
        )
        super().__init__(manifest, slots, beam, source_length, host)
        self.ring: dict[str, Array] = {name: host.arrays[name] for name in host.names("ring")}
        self.source: dict[str, Array] = {name: host.arrays[name] for name in host.names("source")}


def example_state(manifest: Manifest, slots: int, beam: int, source_length: int) -> ExampleState:
    """A state in which every tensor has its shape and every slot one live row."""
    state = ExampleState(manifest, slots, beam, source_length)
    state.source_keep[:] = 1
    state.is_row[:] = True
    state.current.score[:, 0] = 0
    return state


def example_source() -> tuple[Tensor, Tensor]:
    """Ids and keep mask as EncodeGraph takes them."""
    ids = torch.full((2, 5), 7)
    return ids, torch.ones_like(ids, dtype=torch.int32)


def step_arguments(state: ExampleState) -> tuple[list[Tensor], ...]:
    """The state's arrays as StepGraph takes them."""
    arrays = state.inputs(state.clock % 2)
    groups = (
        [arrays[name] for name in SHARED],
        [arrays[name] for name in ROWS],
        state.ring.values(),
        state.source.values(),
    )
    return tuple([torch.from_numpy(array) for array in group] for group in groups)


class FlatEncode(nn.Module):
    """EncodeGraph over one list."""

    def __init__(self, model: TranslationModel) -> None:
        super().__init__()
        self.graph = EncodeGraph(model)

    def forward(self, tensors: list[Tensor]) -> list[Tensor]:
        return self.graph(*tensors)  # type: ignore[no-any-return]


class FlatStep(nn.Module):
    """StepGraph over one list, in the order of a signature."""

    def __init__(self, model: TranslationModel, signature: Signature) -> None:
        super().__init__()
        self.graph, self.names, self.given = StepGraph(model), signature.input_names, signature.output_names
        self.rings = [f"next_{name}" for name in signature.names("ring")]

    def forward(self, tensors: list[Tensor]) -> list[Tensor]:
        by_name = dict(zip(self.names, tensors, strict=True))
        shared, rows = ([by_name[name] for name in group] for group in (SHARED, ROWS))
        rings, sources = ([x for name, x in by_name.items() if name.startswith(kind)] for kind in ("ring.", "source."))
        outputs = self.graph(shared, rows, rings, sources)
        order = (
            "candidate_score",
            "candidate_token",
            "candidate_parent",
            "next_token",
            "next_parent",
            "next_score",
            "next_ancestry",
            *self.rings,
        )
        found = dict(zip(order, outputs, strict=True))
        return [found[name] for name in self.given]


def trace(module: nn.Module, arguments: tuple[object, ...], path: Path) -> None:
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")  # torch.jit announces its retirement; shape comparisons are traced on purpose
        torch.jit.trace(module.eval(), arguments, check_trace=False, strict=False).save(str(path))  # type: ignore[no-untyped-call]


def write_torchscript(model: TranslationModel, manifest: Manifest, encode: Path, step: Path) -> None:
    """Write both graphs, which take and give one list of tensors in the order of their signatures. Traced at sizes
    larger than one, so that no axis is taken for a constant."""
    trace(FlatEncode(model), (list(example_source()),), encode)
    signature, state = traced(manifest.signatures[step.name]), example_state(manifest, 3, 2, 5)
    arrays = {**state.inputs(0), **state.ring, **state.source}
    arguments = [torch.from_numpy(arrays[name]) for name in signature.input_names]
    trace(FlatStep(model, signature), (arguments,), step)

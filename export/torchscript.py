"""Write the general graphs as TorchScript (traced; nothing in them depends on data)."""

import warnings
from pathlib import Path

import torch
from torch import Tensor, nn

from export.graphs import EncodeGraph, StepGraph
from model.translation_model import TranslationModel
from server.artifact import Manifest
from server.backends.state import DecoderState


def example_state(manifest: Manifest, slots: int, beam: int, source_length: int) -> DecoderState:
    """A state in which every tensor has its shape and every slot one live row."""
    state = DecoderState(manifest, slots, beam, source_length)
    state.source_keep[:] = 1
    state.is_row[:] = True
    state.current.score[:, 0] = 0
    return state


def example_source() -> tuple[Tensor, Tensor]:
    """Ids and keep mask as EncodeGraph takes them."""
    ids = torch.full((2, 5), 7)
    return ids, torch.ones_like(ids, dtype=torch.int32)


def step_arguments(state: DecoderState) -> tuple[list[Tensor], ...]:
    """The state's arrays as StepGraph takes them."""
    rows = state.current
    groups = (
        (state.is_row, state.position, state.own_key, state.write_index, state.key_age, state.source_keep),
        (rows.token, rows.parent, rows.score, rows.ancestry),
        tuple(state.ring.values()),
        tuple(state.source.values()),
    )
    return tuple([torch.from_numpy(array) for array in group] for group in groups)


def trace(module: nn.Module, arguments: tuple[object, ...], path: Path) -> None:
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")  # torch.jit announces its retirement; shape comparisons are traced on purpose
        torch.jit.trace(module.eval(), arguments, check_trace=False, strict=False).save(str(path))  # type: ignore[no-untyped-call]


def write_torchscript(model: TranslationModel, manifest: Manifest, encode: Path, step: Path) -> None:
    """Write both graphs. Traced at sizes larger than one, so that no axis is taken for a constant."""
    trace(EncodeGraph(model), example_source(), encode)
    trace(StepGraph(model), step_arguments(example_state(manifest, 3, 2, 5)), step)

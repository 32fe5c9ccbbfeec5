"""Inputs of the sentence model's graphs, for every writer that traces or tries them."""

import torch
from torch import Tensor

from server.artifact import Manifest
from server.backends.arrays import Array
from server.backends.base import batch_sizes
from server.backends.memory import HostMemory, remembered
from server.backends.state import DecoderState

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

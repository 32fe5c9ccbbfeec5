"""Example inputs of the sentence model's graphs, for tracing."""

import torch
from torch import Tensor

from server.artifact.manifest import Manifest
from server.backends.base import batch_sizes
from server.backends.memory import HostMemory, memory_inputs
from server.backends.state import DecoderState


class ExampleState(DecoderState):
    """A state whose past and source lie in NumPy `arrays`, by name."""

    def __init__(self, manifest: Manifest, slots: int, beam: int, source_length: int) -> None:
        read = memory_inputs(manifest.signatures[manifest.graphs[0].step])
        host = HostMemory(
            [tensor for tensor in read if tensor.name.startswith(("ring.", "recurrent.", "source."))],
            batch_sizes(manifest, slots, beam, source_length),
            {},
        )
        super().__init__(manifest, slots, beam, source_length, host)
        self.arrays = host.arrays


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

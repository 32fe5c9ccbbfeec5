"""A step over memory on the device: one copy of the rows in, one of candidates and following rows out."""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from server.artifact.manifest import ArtifactError
from server.artifact.signature import LOG_PROBABILITY, STATE, UNSURE, Signature
from server.backends.arrays import Array, Ints
from server.backends.memory import Layout
from server.backends.ring_tables import RingTables
from server.backends.state import DecoderState
from server.backends.torchscript.graph import Graph
from server.backends.torchscript.memory import TorchMemory
from server.backends.torchscript.transfer import Transfer

SENT = ("token", "parent", "score", "is_row", "position")
"""Rows that the host may change between steps."""
RECEIVED = (
    "candidate_score",
    "candidate_token",
    "candidate_parent",
    "next_token",
    "next_parent",
    "next_score",
    LOG_PROBABILITY,
    UNSURE,
)

DERIVED = ("ancestry", "own_key", "key_age", "write_index", "source_keep")
"""Inputs that the device computes from what is sent, or keeps."""
Copy = tuple[Array, Array]
"""From, to."""
Widen = Callable[[Ints, Mapping[str, Array]], None]
"""Scores all words for some slots of the step that has just run: their numbers, and the arrays of its results."""


class DeviceStep:
    """The arithmetic of a step: everything that happens on the device. `run` has no branch that depends on data and
    allocates nothing that outlives it, so that it can be recorded."""

    def __init__(self, graph: Graph, signature: Signature, state: DecoderState, memory: TorchMemory) -> None:
        """Raises ArtifactError for a graph with tensors that this server does not know."""
        self._graph, self._memory, self._outputs = graph, memory, signature.output_names
        device = memory.place.device
        rows = {name: Layout(array.shape, array.dtype.type) for name, array in state.inputs(0).items() if name in SENT}
        self.inbox = Transfer({**rows, "length": Layout((state.slots,), np.int64)}, device)
        results = {key: Layout(array.shape, array.dtype.type) for key, array in state.outputs(0).items()}
        results[LOG_PROBABILITY] = Layout((state.slots, state.beam, state.num_words), np.float32)
        results[UNSURE] = Layout((state.slots,), np.bool_)
        received = {key: results[key] for key in RECEIVED if key in self._outputs}
        self.outbox = Transfer(received, device)
        tables = RingTables.of(state.capacity, state.beam)
        self._capacity = state.capacity
        self._own_key, self._key_age, self._entry = (
            torch.from_numpy(table).to(device) for table in (tables.own_key, tables.key_age, tables.entry)
        )
        self._write_index = torch.from_numpy(state.write_index).to(device, copy=True)
        self._pieces = torch.arange(state.source_length, device=device)
        self._inputs = signature.input_names
        sizes = {"slot": state.slots, "beam": state.beam}
        self._states = {  # kept for the second run of a step (see widening.py)
            each.name: memory.place.zeros(each.shape(sizes)) for each in signature.outputs if each.name == STATE
        }
        unknown = sorted({*self._inputs} - {*SENT, *memory.tensors, *DERIVED})
        if unknown:
            raise ArtifactError(f"a step graph reads {', '.join(unknown)}, which this server does not know")

    def run(self) -> None:
        self.inbox.to_device()
        self.compute()
        self.outbox.to_host()

    def compute(self) -> None:
        """The part of `run` that is on the device as a whole."""
        memory, sent = self._memory, self.inbox.values
        position = sent["position"]
        ring_slot = position % self._capacity
        self._write_index[..., 2] = self._entry[ring_slot]
        # A sentence at its first position has no past, whatever its slot held before.
        memory.ancestry.logical_and_((position > 0)[:, None, None])
        feeds = {
            **sent,
            **memory.tensors,
            "ancestry": memory.ancestry,
            "own_key": self._own_key[ring_slot],
            "key_age": self._key_age[ring_slot],
            "write_index": self._write_index,
            "source_keep": (self._pieces < sent["length"][:, None]).int(),
        }
        results = self._graph([feeds[name] for name in self._inputs])
        for name, tensor in zip(self._outputs, results, strict=True):
            if not name.startswith("next_ring."):  # written in place
                self._target(name).copy_(tensor)

    def rows(self, name: str) -> Tensor:
        """What the step that has just run read or wrote for all slots: a sent row, or the state."""
        return self._states[name] if name in self._states else self.inbox.values[name]

    def _target(self, name: str) -> Tensor:
        if name in self.outbox.values:
            return self.outbox.values[name]
        if name in self._states:
            return self._states[name]
        plain = name.removeprefix("next_")
        return self._memory.ancestry if plain == "ancestry" else self._memory.tensors[plain]


def bound_step(
    step: DeviceStep, state: DecoderState, memory: TorchMemory, run: Callable[[], None], widen: Widen | None = None
) -> Callable[[], None]:
    """One step of the engine: the rows to the device, `run`, its results into the state's arrays. `run` executes
    `step.run` and waits for it; then `widen` replaces the results of unsure slots."""
    sent, received = step.inbox.host, step.outbox.host
    pairs, results, outputs = list[list[Copy]](), list[list[Copy]](), [state.outputs(parity) for parity in (0, 1)]
    for parity in (0, 1):
        pairs.append([(array, sent[name]) for name, array in state.inputs(parity).items() if name in sent])
        results.append([(received[name], array) for name, array in outputs[parity].items() if name in received])

    def step_once() -> None:
        parity = state.clock % 2
        for array, buffer in pairs[parity]:
            np.copyto(buffer, array)
        np.copyto(sent["length"], memory.lengths)
        memory.settle()
        run()
        for buffer, array in results[parity]:
            np.copyto(array, buffer)
        if widen is not None and received[UNSURE].any():
            widen(np.flatnonzero(received[UNSURE]), outputs[parity])

    return step_once

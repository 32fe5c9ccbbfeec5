"""The memory of a running batch in tensors, which stay on the device."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from server.artifact import signature
from server.backends.arrays import Array, Ints
from server.backends.base import NO_DOCUMENT
from server.backends.memory import Encoded, Layout, Memory, memory_inputs
from server.backends.torchscript.place import Place


class Kind(NamedTuple):
    """The dtype of a tensor, and its axes behind the first."""

    dtype: str
    axes: tuple[signature.Axis, ...]


@dataclass(frozen=True)
class EncodedOnDevice(Encoded):
    """A sentence whose source tensors are on the device: row `row` of the tensors of its encoder batch, which are
    `stacks`, [tensor, row, ...] with padding; `names`: see `tensors_by_kind`. `tensors` is empty."""

    stacks: Mapping[Kind, Tensor] = field(default_factory=dict)
    names: Mapping[Kind, Sequence[str]] = field(default_factory=dict)
    row: int = 0

    @property
    def num_bytes(self) -> int:
        return sum(stack[:, self.row].nbytes for stack in self.stacks.values())

    def named(self) -> dict[str, Tensor]:
        """The tensors by name, [1, ...], without padding."""
        tensors = dict[str, Tensor]()
        for kind, stack in self.stacks.items():
            row = stack[:, self.row : self.row + 1]
            for dimension, axis in enumerate(kind.axes, 2):
                row = row.narrow(dimension, 0, self.length) if axis == "source" else row
            tensors |= zip(self.names[kind], row, strict=True)
        return tensors

    def on_host(self, name: str) -> Array | None:
        found = self.named().get(name)
        if found is None:
            return None
        array: Array = (found.float() if found.is_floating_point() else found)[0].cpu().numpy()
        return array


def tensors_by_kind(tensors: Sequence[signature.Tensor], *roles: str) -> dict[Kind, list[str]]:
    """The names of tensors of some roles that are of the same kind: they lie in one tensor, so that a sentence is
    copied at once."""
    groups: dict[Kind, list[str]] = {}
    for tensor in tensors:
        if tensor.role in roles and tensor.name != "source_keep":
            groups.setdefault(Kind(tensor.dtype, tensor.axes[1:]), []).append(tensor.name)
    return groups


def stacked(tensors: Mapping[str, Tensor], names: Mapping[Kind, Sequence[str]]) -> dict[Kind, Tensor]:
    """Outputs of a graph by name as the `stacks` of sentences; `names`: see `tensors_by_kind`."""
    return {kind: torch.stack([tensors[name] for name in group]) for kind, group in names.items()}


class TorchMemory:
    """Rings, recurrent tensors, source tensors, documents and the rows' ancestry. `tensors`: all but the ancestry, by
    name."""

    keeps_rows = True
    runs_first_slots = False

    def __init__(
        self,
        step: signature.Signature,
        sizes: Mapping[str, int],
        place: Place,
        document: Mapping[str, Layout] = NO_DOCUMENT,
    ) -> None:
        """Memory for what the step reads; `sizes`: of the free axes. Raises KeyError for a missing size."""
        self.document = document
        slots, inputs = sizes["slot"], memory_inputs(step)
        self.place = place
        self.tensors: dict[str, Tensor] = {}
        self._past, self.sources = (
            self._stacks(tensors_by_kind(inputs, *roles), sizes) for roles in (("ring", "recurrent"), ("source",))
        )
        self._documents = {
            name: place.zeros((slots, *layout.shape), np.dtype(layout.dtype).name) for name, layout in document.items()
        }
        self.tensors |= self._documents
        self.ancestry = place.zeros((slots, sizes["beam"], sizes["entry"]), "bool")
        self._arrived: dict[int, EncodedOnDevice] = {}
        """Sentences whose source tensors are not in their slots yet."""
        self.lengths: Ints = np.ones(slots, np.int64)
        """Source pieces of every slot, on the host; 1 for an idle slot."""

    def _stacks(self, groups: Mapping[Kind, Sequence[str]], sizes: Mapping[str, int]) -> dict[Kind, Tensor]:
        stacks = {}
        for kind, names in groups.items():
            shape = (axis if isinstance(axis, int) else sizes[axis] for axis in kind.axes)
            stacks[kind] = self.place.zeros((len(names), sizes["slot"], *shape), kind.dtype)
            self.tensors |= zip(names, stacks[kind], strict=True)
        return stacks

    @property
    def ring_bytes(self) -> int:
        return sum(stack.nbytes for stack in self._past.values())

    @property
    def source_bytes(self) -> int:
        return sum(stack.nbytes for stack in (*self.sources.values(), *self._documents.values()))

    def admit(self, slot: int, sentence: Encoded) -> None:
        assert isinstance(sentence, EncodedOnDevice)
        self._arrived[slot] = sentence
        self.lengths[slot] = sentence.length

    def settle(self) -> None:
        """Before a step: copy the source tensors of admitted sentences, all of an encoder batch at once. Padding is
        copied with them, and cut where the slots are shorter: `lengths` hides it."""
        batches: dict[int, list[tuple[int, EncodedOnDevice]]] = {}
        for slot, sentence in self._arrived.items():
            batches.setdefault(id(sentence.stacks), []).append((slot, sentence))
        self._arrived.clear()
        for batch in batches.values():
            slots, rows = torch.tensor([[slot, sentence.row] for slot, sentence in batch]).T
            slots = slots.to(self.place.device)
            for kind, target in self.sources.items():  # of a step over all words without the sentence's shortlist
                stack = batch[0][1].stacks[kind]
                cut = tuple(slice(min(sizes)) for sizes in zip(target.shape[2:], stack.shape[2:], strict=True))
                chosen = stack[(slice(None), slice(None), *cut)].index_select(1, rows.to(stack.device))
                target[(slice(None), slots, *cut)] = chosen.to(target.device)  # another one may have encoded them
            for slot, sentence in batch if self._documents else ():
                self._write_document(slot, sentence)

    def _write_document(self, slot: int, sentence: Encoded) -> None:
        """Copy the pages of a sentence's document, which stay until its translation is complete."""
        for name, buffer in self._documents.items():
            pages = sentence.document[name]
            buffer[slot].zero_()
            buffer[slot][tuple(slice(size) for size in pages.shape)] = self.place.tensor(pages)

    def release(self, slot: int) -> None:
        self.lengths[slot] = 1
        self._arrived.pop(slot, None)
        for name, buffer in self._documents.items():
            if name.startswith("sentence_keep"):
                buffer[slot].zero_()

    def copy_slots(self, other: Memory, slots: Sequence[int]) -> None:
        assert isinstance(other, TorchMemory)
        other.settle()
        chosen = torch.tensor(list(slots), dtype=torch.int64, device=self.place.device)
        pairs = [(stack, theirs[kind]) for ours, theirs in self._pairs(other) for kind, stack in ours.items()]
        pairs += [(buffer[None], other._documents[name][None]) for name, buffer in self._documents.items()]
        for stack, original in [*pairs, (self.ancestry[None], other.ancestry[None])]:
            common = [slice(min(sizes)) for sizes in zip(stack.shape[2:], original.shape[2:], strict=True)]
            cut = (slice(None), slice(None), *common)
            stack[:, : len(slots)][cut] = original[cut].index_select(1, chosen)
        self.lengths[: len(slots)] = other.lengths[list(slots)]

    def _pairs(self, other: "TorchMemory") -> list[tuple[dict[Kind, Tensor], dict[Kind, Tensor]]]:
        return [(self._past, other._past), (self.sources, other.sources)]

"""The memory of a running batch, owned by the backend: rings, recurrent tensors, source tensors, documents."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np

from server.artifact.signature import Signature, Tensor
from server.backends.arrays import Array

Value = TypeVar("Value")


@dataclass(frozen=True)
class Layout:
    """One slot's part of a tensor."""

    shape: tuple[int, ...]
    dtype: type[np.generic]


@dataclass(frozen=True)
class Encoded:
    """Outputs of the encode graph for one sentence of `length` pieces, by name, without padding: the source's tensors
    and its shortlist. `document`: the pages that its steps attend to, [J_p, ...], where context is on the decoder's
    side."""

    length: int
    tensors: Mapping[str, Array]
    document: Mapping[str, Array] = field(default_factory=dict)

    @property
    def num_bytes(self) -> int:
        """Bytes of the source's tensors."""
        return sum(tensor.nbytes for tensor in self.tensors.values())

    def on_host(self, name: str) -> Array | None:
        """One of the tensors as an array, real numbers at fp32; None where there is none of this name."""
        return self.tensors.get(name)


def document_layout(sentences: Iterable[Encoded]) -> dict[str, Layout]:
    """The layout that fits all documents of these sentences. Numbers of sentences are rounded up to powers of two, so
    that few arrivals need a larger layout."""
    shapes: dict[str, tuple[int, ...]] = {}
    dtypes: dict[str, type[np.generic]] = {}
    for sentence in sentences:
        for name, tensor in sentence.document.items():
            needed = (1 << (len(tensor) - 1).bit_length(), *tensor.shape[1:])
            shapes[name] = tuple(map(max, zip(shapes.get(name, needed), needed, strict=True)))
            dtypes[name] = tensor.dtype.type
    return {name: Layout(shape, dtypes[name]) for name, shape in shapes.items()}


class Memory(Protocol):
    """Slots of one running batch. Rings need no reset: a row's ancestry masks the entries of others. Recurrent tensors
    need none: at position 0 they are not read."""

    keeps_rows: bool
    """Whether the rows' ancestry and the tables of ring slots are the memory's, too; then the state has none."""
    runs_first_slots: bool
    """Whether a step may run over the first slots alone; then it is a HostMemory."""

    @property
    def document(self) -> Mapping[str, Layout]:
        """The layout of one slot's document, by tensor; empty where steps attend to none."""
        ...

    @property
    def ring_bytes(self) -> int:
        """Bytes of the rows' past: rings and recurrent tensors."""
        ...

    @property
    def source_bytes(self) -> int:
        """Bytes of everything but the rings."""
        ...

    def admit(self, slot: int, sentence: Encoded) -> None:
        """Write the tensors of the sentence to the slot."""
        ...

    def release(self, slot: int) -> None:
        """Hide the slot's document from its steps."""
        ...

    def copy_slots(self, other: "Memory", slots: Sequence[int]) -> None:
        """Copy `slots` of another memory of the same class to slots 0, 1, ...; larger tensors are cut."""
        ...


class HostMemory:
    """Memory in NumPy arrays, which graphs on the CPU read and write in place."""

    keeps_rows = False
    runs_first_slots = True

    def __init__(self, tensors: Iterable[Tensor], sizes: Mapping[str, int], document: Mapping[str, Layout]) -> None:
        """Memory for `tensors` (see `memory_inputs`); `sizes`: of their free axes. Raises KeyError for a missing
        size."""
        self.document = document
        self.tensors = {tensor.name: tensor for tensor in tensors}
        self.arrays: dict[str, Array] = {}
        for name, tensor in self.tensors.items():
            shape = tensor.shape(sizes) if tensor.role != "document" else (sizes["slot"], *document[name].shape)
            self.arrays[name] = np.zeros(shape, tensor.dtype)
        self.odd = {name: np.zeros_like(self.arrays[name]) for name in self.names("recurrent")}
        """The second buffers of recurrent tensors, which steps at odd clocks read."""
        past = [self.arrays[name] for name in self.names("ring", "recurrent")]
        self.ring_bytes = sum(array.nbytes for array in (*past, *self.odd.values()))
        self.source_bytes = sum(self.arrays[name].nbytes for name in self.names("source", "document"))
        # A sentence has its own length on a free axis; a fixed axis must match.
        self._sources = [
            (name, self.arrays[name], [isinstance(axis, str) for axis in self.tensors[name].axes[1:]])
            for name in self.names("source")
        ]
        self._documents = [(name, self.arrays[name]) for name in self.names("document")]

    def names(self, *roles: str) -> list[str]:
        return [name for name, tensor in self.tensors.items() if tensor.role in roles]

    def inputs(self, parity: int) -> dict[str, Array]:
        """What a step at a clock of this parity reads, by name."""
        return turned(self.arrays, self.odd, parity)

    def outputs(self, parity: int) -> dict[str, Array]:
        """What such a step may write, by name: rings where they are, recurrent tensors to the other buffer."""
        return {f"next_{name}": array for name, array in turned(self.arrays, self.odd, 1 - parity).items()}

    def admit(self, slot: int, sentence: Encoded) -> None:
        for name, buffer, is_free in self._sources:
            part = sentence.tensors[name]
            cut = tuple([slice(size if free else None) for size, free in zip(part.shape, is_free, strict=True)])
            buffer[slot][cut] = part
        for name, buffer in self._documents:
            pages = sentence.document[name]
            buffer[slot] = 0
            buffer[slot][tuple(slice(size) for size in pages.shape)] = pages

    def release(self, slot: int) -> None:
        for name, buffer in self._documents:
            if name.startswith("sentence_keep"):
                buffer[slot] = 0

    def move_slot(self, source: int, target: int) -> None:
        """Copy a slot to another one of this memory."""
        for array in (*self.arrays.values(), *self.odd.values()):
            array[target] = array[source]

    def copy_slots(self, other: Memory, slots: Sequence[int]) -> None:
        assert isinstance(other, HostMemory)
        pairs = [(array, other.arrays[name]) for name, array in self.arrays.items()]
        pairs += [(array, other.odd[name]) for name, array in self.odd.items()]
        parts = runs(slots)
        for array, original in pairs:
            common = tuple([slice(min(sizes)) for sizes in zip(array.shape[1:], original.shape[1:], strict=True)])
            for new, old, count in parts:
                array[(slice(new, new + count), *common)] = original[(slice(old, old + count), *common)]


def runs(slots: Sequence[int]) -> list[tuple[int, int, int]]:
    """Slots that follow each other: where they begin in `slots`, the first of them, and how many they are."""
    found = list[tuple[int, int, int]]()
    for new, old in enumerate(slots):
        if found and old - new == found[-1][1] - found[-1][0]:
            found[-1] = (*found[-1][:2], found[-1][2] + 1)
        else:
            found.append((new, old, 1))
    return found


def turned(even: Mapping[str, Value], odd: Mapping[str, Value], parity: int) -> dict[str, Value]:
    """All values by name, in the buffers of a parity."""
    return {**even, **odd} if parity else {**even}


def memory_inputs(signature: Signature) -> list[Tensor]:
    """The inputs of a step that are memory. The others, with `source_keep`, are arrays of the rows
    (server/backends/state.py)."""
    roles = ("ring", "recurrent", "source", "document")
    return [tensor for tensor in signature.inputs if tensor.role in roles and tensor.name != "source_keep"]


def fits_document(memory: Memory, document: Mapping[str, Layout]) -> bool:
    """Whether the memory fits such documents and is at most four times as large as they need: every step reads all of
    it."""
    if not document:
        return True
    is_large_enough = all(
        size >= needed
        for name, layout in document.items()
        for size, needed in zip(memory.document[name].shape, layout.shape, strict=True)
    )
    return is_large_enough and _size(memory.document) <= 4 * _size(document)


def _size(document: Mapping[str, Layout]) -> int:
    return sum(math.prod(layout.shape) for layout in document.values())

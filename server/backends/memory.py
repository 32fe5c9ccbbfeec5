"""The memory of a running batch: rings, source memory, documents. It belongs to the backend."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from server.artifact.signature import Signature, Tensor
from server.backends.arrays import Array


@dataclass(frozen=True)
class Layout:
    """One slot's part of a tensor."""

    shape: tuple[int, ...]
    dtype: type[np.generic]


@dataclass(frozen=True)
class Encoded:
    """What the encode graph gives for one sentence of `length` pieces, by name, without padding: the source's tensors
    and its shortlist. `document`: the pages that its steps look at, [J_p, ...], where context is on the decoder's side.
    """

    length: int
    tensors: Mapping[str, Array]
    document: Mapping[str, Array] = field(default_factory=dict)


def document_layout(sentences: Iterable[Encoded]) -> dict[str, Layout]:
    """Room for the largest of these sentences' documents. Numbers of sentences are rounded up to powers of two, so that
    few arrivals need more room."""
    shapes: dict[str, tuple[int, ...]] = {}
    dtypes: dict[str, type[np.generic]] = {}
    for sentence in sentences:
        for name, tensor in sentence.document.items():
            needed = (1 << (len(tensor) - 1).bit_length(), *tensor.shape[1:])
            shapes[name] = tuple(map(max, zip(shapes.get(name, needed), needed, strict=True)))
            dtypes[name] = tensor.dtype.type
    return {name: Layout(shape, dtypes[name]) for name, shape in shapes.items()}


class Memory(Protocol):
    """Slots of one running batch. Rings need no reset: a row's ancestry says which entries are its own."""

    @property
    def document(self) -> Mapping[str, Layout]:
        """Room for one slot's document, by tensor; empty where steps look at none."""
        ...

    @property
    def ring_bytes(self) -> int: ...

    @property
    def source_bytes(self) -> int:
        """Bytes of everything but the rings."""
        ...

    def admit(self, slot: int, sentence: Encoded) -> None:
        """Write what the slot's steps read of its sentence."""
        ...

    def release(self, slot: int) -> None:
        """Hide the slot's document from its steps."""
        ...

    def copy_slots(self, other: "Memory", slots: Sequence[int]) -> None:
        """Copy `slots` of another memory of the same kind to slots 0, 1, ...; what is larger than here is cut."""
        ...


class HostMemory:
    """Memory in NumPy arrays, which graphs on the CPU read and write in place."""

    def __init__(self, tensors: Iterable[Tensor], sizes: Mapping[str, int], document: Mapping[str, Layout]) -> None:
        """Room for the tensors of `remembered`; `sizes` are those of their free axes. Raises KeyError for a tensor of
        unknown size."""
        self.document = document
        self.tensors = {tensor.name: tensor for tensor in tensors}
        self.arrays: dict[str, Array] = {}
        for name, tensor in self.tensors.items():
            shape = tensor.shape(sizes) if tensor.role != "document" else (sizes["slot"], *document[name].shape)
            self.arrays[name] = np.zeros(shape, tensor.dtype)
        # Of a free axis a sentence has its own length; a fixed one must fit.
        self._sources = [
            (name, self.arrays[name], [isinstance(axis, str) for axis in self.tensors[name].axes[1:]])
            for name in self.names("source")
        ]
        self._documents = [(name, self.arrays[name]) for name in self.names("document")]

    def names(self, *roles: str) -> list[str]:
        return [name for name, tensor in self.tensors.items() if tensor.role in roles]

    @property
    def ring_bytes(self) -> int:
        return sum(self.arrays[name].nbytes for name in self.names("ring"))

    @property
    def source_bytes(self) -> int:
        return sum(self.arrays[name].nbytes for name in self.names("source", "document"))

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

    def copy_slots(self, other: Memory, slots: Sequence[int]) -> None:
        assert isinstance(other, HostMemory)
        for name, array in self.arrays.items():
            theirs = other.arrays[name]
            common = tuple(slice(min(sizes)) for sizes in zip(array.shape[1:], theirs.shape[1:], strict=True))
            for new, old in enumerate(slots):
                array[new][common] = theirs[old][common]


def remembered(signature: Signature) -> list[Tensor]:
    """The inputs of a step that are memory. The rest are arrays of the rows (server/backends/state.py), `source_keep`
    among them."""
    return [one for one in signature.inputs if one.role in ("ring", "source", "document") and one.name != "source_keep"]


def suits(memory: Memory, document: Mapping[str, Layout]) -> bool:
    """Whether there is room for such documents, but at most four times what they need: every step reads all of it."""
    if not document:
        return True
    has_room = all(
        mine >= needed
        for name, layout in document.items()
        for mine, needed in zip(memory.document[name].shape, layout.shape, strict=True)
    )
    return has_room and _size(memory.document) <= 4 * _size(document)


def _size(document: Mapping[str, Layout]) -> int:
    return sum(math.prod(layout.shape) for layout in document.values())

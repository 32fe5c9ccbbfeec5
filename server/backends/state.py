"""The memory of one running batch: slots x beams, as NumPy arrays that every backend reads and writes in place."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from server.artifact import Manifest

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Flags = NDArray[np.int32]
"""0 or 1; the type that attention kernels take for a keep mask."""

Array = NDArray[Any]

DEAD_SCORE = np.float32(-1e30)
"""Cumulative score of a row that holds no hypothesis: no candidate of it is ever among the best."""


@dataclass(frozen=True)
class Candidates:
    """Best continuations of every slot, best first: each array [slot, 2*beam]. Overwritten by the next step."""

    score: Floats
    token: Ints
    parent: Ints


@dataclass(frozen=True)
class Rows:
    """What a step knows of every row: its last token, the beam that it continues, its cumulative log-probability
    (each [slot, beam]) and which ring entries are its own past ([slot, beam, entry])."""

    token: Ints
    parent: Ints
    score: Floats
    ancestry: Bools

    @classmethod
    def empty(cls, slots: int, beam: int, entries: int) -> "Rows":
        parent: Ints = np.tile(np.arange(beam), (slots, 1))
        score: Floats = np.full((slots, beam), DEAD_SCORE)
        return cls(np.zeros((slots, beam), np.int64), parent, score, np.zeros((slots, beam, entries), np.bool_))


@dataclass(frozen=True)
class ClockTables:
    """The tensors that say which ring slot a step writes, one row for every ring slot (see server/artifact.py)."""

    keys: Bools
    """[ring slot, beam + 1, entry]: own_key, and kept_key in the last row."""
    key_age: Ints
    entry: Ints

    @classmethod
    def of(cls, capacity: int, beam: int) -> "ClockTables":
        keys = np.zeros((capacity, beam + 1, capacity * beam), np.bool_)
        beams = np.arange(beam)
        for ring_slot in range(capacity):
            keys[ring_slot, beams, ring_slot * beam + beams] = True
        keys[:, beam] = ~keys[:, :beam].any(axis=1)
        ages = (np.arange(capacity)[:, None] - np.arange(capacity)[None, :]) % capacity
        entry = np.arange(capacity * beam).reshape(capacity, beam, 1)
        return cls(keys, np.repeat(ages, beam, axis=1), entry)


@dataclass(frozen=True)
class Layout:
    """One slot's part of a tensor."""

    shape: tuple[int, ...]
    dtype: type[np.generic]

    def empty(self, slots: int) -> Array:
        return np.zeros((slots, *self.shape), self.dtype)


def shortlist_layout(manifest: Manifest, precision: str) -> dict[str, Layout]:
    """The tensors of a sentence's shortlist (see server/artifact.py); none where the artifact has no shortlist."""
    if manifest.shortlist is None:
        return {}
    width, extra = manifest.num_heads * manifest.head_dim, manifest.shortlist.extra
    weight = np.int8 if precision == "int8" else np.float32
    layout = {
        "shortlist.word": Layout((manifest.shortlist.size,), np.int64),
        "shortlist.weight": Layout((width, extra), weight),
    }
    if precision == "int8":
        layout["shortlist.scale"] = Layout((1, extra), np.float32)
    return layout


@dataclass(frozen=True)
class Encoded:
    """What the encode graph says of one sentence: source tensors [heads, length, head_dim] in the manifest's order,
    and its shortlist in the layout's order. `document`: the pages that its steps look at, [J_p, ...] by name, where
    context is on the decoder's side."""

    source: tuple[Floats, ...]
    shortlist: tuple[Array, ...] = ()
    document: Mapping[str, Array] = field(default_factory=dict)

    @property
    def length(self) -> int:
        return int(self.source[0].shape[1])


def document_layout(sentences: Iterable[Encoded]) -> dict[str, Layout]:
    """Room for the documents of all of these sentences; numbers of sentences are rounded up to powers of two, so that
    few arrivals ask for more."""
    shapes: dict[str, tuple[int, ...]] = {}
    dtypes: dict[str, type[np.generic]] = {}
    for sentence in sentences:
        for name, tensor in sentence.document.items():
            needed = (1 << (len(tensor) - 1).bit_length(), *tensor.shape[1:])
            shapes[name] = tuple(map(max, zip(shapes.get(name, needed), needed, strict=True)))
            dtypes[name] = tensor.dtype.type
    return {name: Layout(shape, dtypes[name]) for name, shape in shapes.items()}


class DecoderState:
    """All tensors of the step graph for `slots` sentences of up to `source_length` pieces, `beam` rows each.

    A step reads `current` rows and everything else, writes the ring in place, and fills `following` rows and the
    candidates; `tick` then makes the following rows current. `clock` counts steps: in step c every row writes ring
    slot c mod capacity, wherever its sentence stands.
    """

    def __init__(
        self,
        manifest: Manifest,
        slots: int,
        beam: int,
        source_length: int,
        shortlist: Mapping[str, Layout] = MappingProxyType({}),
        document: Mapping[str, Layout] = MappingProxyType({}),
    ) -> None:
        heads, capacity, head_dim = manifest.num_heads, manifest.ring_capacity, manifest.head_dim
        entries = capacity * beam
        self.slots, self.beam, self.capacity, self.source_length = slots, beam, capacity, source_length
        self.rows = (Rows.empty(slots, beam, entries), Rows.empty(slots, beam, entries))
        self.is_row: Bools = np.zeros((slots, beam), np.bool_)
        self.position: Ints = np.zeros(slots, np.int64)
        self.is_running: Ints = np.zeros(slots, np.int64)
        self._keys: Bools = np.zeros((beam + 1, entries), np.bool_)
        self.own_key: Bools = self._keys[:beam]
        self.kept_key: Bools = self._keys[beam]
        self.key_age: Ints = np.zeros(entries, np.int64)
        self.write_index: Ints = np.zeros((slots, beam, heads, 3), np.int64)
        self.write_index[..., 0] = np.arange(slots)[:, None, None]
        self.write_index[..., 1] = np.arange(heads)[None, None, :]
        self._write_entry: Ints = self.write_index[..., 2]
        self.first_row: Ints = np.arange(slots)[:, None] * beam
        self.num_rows: Ints = np.array([beam])
        self.num_candidates: Ints = np.array([2 * beam])
        self.source_keep: Flags = np.zeros((slots, source_length), np.int32)
        self.ring: dict[str, Floats] = {
            name: np.zeros((slots, heads, entries, head_dim), np.float32) for name in manifest.ring_tensors
        }
        self.source: dict[str, Floats] = {
            name: np.zeros((slots, heads, source_length, head_dim), np.float32) for name in manifest.source_tensors
        }
        self.shortlist = {name: layout.empty(slots) for name, layout in shortlist.items()}
        self.document = {name: layout.empty(slots) for name, layout in document.items()}
        wide = (slots, 2 * beam)
        self.candidates = Candidates(np.zeros(wide, np.float32), np.zeros(wide, np.int64), np.zeros(wide, np.int64))
        self.source_keep[:, 0] = 1  # idle slots attend to one zero key, so that their arithmetic stays finite
        self._tables = ClockTables.of(capacity, beam)
        self._set_clock(0)

    def suits(self, document: Mapping[str, Layout]) -> bool:
        """Whether there is room for such documents, and not far more than they need: every step reads it."""
        if not document:
            return True
        has_room = all(
            mine >= needed
            for name, layout in document.items()
            for mine, needed in zip(self.document[name].shape[1:], layout.shape, strict=True)
        )
        present = sum(tensor[0].size for tensor in self.document.values())
        return has_room and present <= 4 * sum(math.prod(layout.shape) for layout in document.values())

    def _set_clock(self, clock: int) -> None:
        self.clock = clock
        ring_slot = clock % self.capacity
        self._keys[:] = self._tables.keys[ring_slot]
        self.key_age[:] = self._tables.key_age[ring_slot]
        self._write_entry[:] = self._tables.entry[ring_slot]

    def tick(self) -> None:
        """After a step: its rows become current, running sentences move on by one, the next ring slot is due."""
        self.position += self.is_running
        self._set_clock(self.clock + 1)

    @property
    def current(self) -> Rows:
        """The rows that the next step reads."""
        return self.rows[self.clock % 2]

    @property
    def following(self) -> Rows:
        """The rows that the next step writes."""
        return self.rows[1 - self.clock % 2]

    def admit(self, slot: int, sentence: Encoded, first_token: int, beam_size: int) -> None:
        """Begin a sentence: one live row, no past."""
        for buffer, tensor in zip(self.source.values(), sentence.source, strict=True):
            buffer[slot, :, : sentence.length] = tensor
        for buffer, tensor in zip(self.shortlist.values(), sentence.shortlist, strict=True):
            buffer[slot] = tensor
        for name, buffer in self.document.items():
            pages = sentence.document[name]
            buffer[slot] = 0
            buffer[slot][tuple(slice(size) for size in pages.shape)] = pages
        self.source_keep[slot] = np.arange(self.source_length) < sentence.length
        rows = self.current
        rows.token[slot] = first_token
        rows.parent[slot] = np.arange(self.beam)
        rows.score[slot] = DEAD_SCORE
        rows.score[slot, 0] = 0
        rows.ancestry[slot] = False
        self.is_row[slot] = np.arange(self.beam) < beam_size
        self.position[slot] = 0
        self.is_running[slot] = 1

    def release(self, slot: int) -> None:
        """Leave the slot idle: no live row, and one source key, so that nothing of the sentence is read again."""
        self.current.score[slot] = DEAD_SCORE
        self.is_row[slot] = False
        self.position[slot] = 0
        self.is_running[slot] = 0
        self.source_keep[slot] = np.arange(self.source_length) < 1
        for name, buffer in self.document.items():
            if name.startswith("sentence_keep"):
                buffer[slot] = 0

    def copy_slots(self, other: "DecoderState", slots: Sequence[int]) -> None:
        """Continue `slots` of another state here, in slots 0, 1, ...; only valid before this state's first step."""
        count, keep = len(slots), list(slots)
        width = min(self.source_length, other.source_length)
        self._set_clock(other.clock)
        mine, theirs = self.current, other.current
        for here, there in (
            (mine.token, theirs.token),
            (mine.parent, theirs.parent),
            (mine.score, theirs.score),
            (mine.ancestry, theirs.ancestry),
            (self.is_row, other.is_row),
            (self.position, other.position),
            (self.is_running, other.is_running),
        ):
            here[:count] = there[keep]
        self.source_keep[:count, :width] = other.source_keep[keep, :width]
        for name, ring in self.ring.items():
            ring[:count] = other.ring[name][keep]
        for name, tensor in self.source.items():
            tensor[:count, :, :width] = other.source[name][keep, :, :width]
        for name, words in self.shortlist.items():
            words[:count] = other.shortlist[name][keep]
        for name, pages in self.document.items():
            theirs_of = other.document[name]
            common = tuple(slice(min(sizes)) for sizes in zip(pages.shape[1:], theirs_of.shape[1:], strict=True))
            for new, old in enumerate(keep):
                pages[new][common] = theirs_of[old][common]

    @property
    def ring_bytes(self) -> int:
        return sum(tensor.nbytes for tensor in self.ring.values())

    @property
    def source_bytes(self) -> int:
        return sum(tensor.nbytes for tensor in (*self.source.values(), *self.document.values()))

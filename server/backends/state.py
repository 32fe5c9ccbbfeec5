"""The memory of one running batch: slots x beams, as NumPy arrays that every backend reads and writes in place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

    own_key: Bools
    kept_key: Bools
    key_age: Ints
    entry: Ints

    @classmethod
    def of(cls, capacity: int, beam: int) -> "ClockTables":
        own_key = np.zeros((capacity, beam, capacity * beam), np.bool_)
        beams = np.arange(beam)
        for ring_slot in range(capacity):
            own_key[ring_slot, beams, ring_slot * beam + beams] = True
        ages = (np.arange(capacity)[:, None] - np.arange(capacity)[None, :]) % capacity
        kept_key: Bools = np.ones((capacity, capacity * beam), np.bool_)
        kept_key[own_key.any(axis=1)] = False
        entry = np.arange(capacity * beam).reshape(capacity, beam)
        return cls(own_key, kept_key, np.repeat(ages, beam, axis=1), entry)


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
    and its shortlist in the layout's order."""

    source: tuple[Floats, ...]
    shortlist: tuple[Array, ...] = ()

    @property
    def length(self) -> int:
        return int(self.source[0].shape[1])


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
    ) -> None:
        heads, capacity, head_dim = manifest.num_heads, manifest.ring_capacity, manifest.head_dim
        entries = capacity * beam
        self.slots, self.beam, self.capacity, self.source_length = slots, beam, capacity, source_length
        self.rows = (Rows.empty(slots, beam, entries), Rows.empty(slots, beam, entries))
        self.is_row: Bools = np.zeros((slots, beam), np.bool_)
        self.position: Ints = np.zeros(slots, np.int64)
        self.is_running: Ints = np.zeros(slots, np.int64)
        self.own_key: Bools = np.zeros((beam, entries), np.bool_)
        self.kept_key: Bools = np.zeros(entries, np.bool_)
        self.key_age: Ints = np.zeros(entries, np.int64)
        self.write_index: Ints = np.zeros((slots, heads, beam, 3), np.int64)
        self.write_index[..., 0] = np.arange(slots)[:, None, None]
        self.write_index[..., 1] = np.arange(heads)[None, :, None]
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
        wide = (slots, 2 * beam)
        self.candidates = Candidates(np.zeros(wide, np.float32), np.zeros(wide, np.int64), np.zeros(wide, np.int64))
        self.source_keep[:, 0] = 1  # idle slots attend to one zero key, so that their arithmetic stays finite
        self._tables = ClockTables.of(capacity, beam)
        self._set_clock(0)

    def _set_clock(self, clock: int) -> None:
        self.clock = clock
        ring_slot = clock % self.capacity
        np.copyto(self.own_key, self._tables.own_key[ring_slot])
        np.copyto(self.kept_key, self._tables.kept_key[ring_slot])
        np.copyto(self.key_age, self._tables.key_age[ring_slot])
        np.copyto(self.write_index[..., 2], self._tables.entry[ring_slot])

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

    @property
    def ring_bytes(self) -> int:
        return sum(tensor.nbytes for tensor in self.ring.values())

    @property
    def source_bytes(self) -> int:
        return sum(tensor.nbytes for tensor in self.source.values())

"""The rows of one running batch, slots x beams, as NumPy arrays: what the engine reads and writes in every step."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from server.artifact.artifact import Manifest
from server.backends.arrays import Array as Array
from server.backends.arrays import Bools as Bools
from server.backends.arrays import Flags as Flags
from server.backends.arrays import Floats as Floats
from server.backends.arrays import Ints as Ints
from server.backends.memory import Encoded as Encoded
from server.backends.memory import Layout as Layout
from server.backends.memory import Memory
from server.backends.memory import document_layout as document_layout

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
    """The rows of a step: last token, the beam that each continues, cumulative log-probability in nats (each [slot,
    beam]), and which ring entries are a row's own past ([slot, beam, entry])."""

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
class RingTables:
    """For every ring slot, the values of the tensors that say that a sentence writes it (`server.artifact`)."""

    own_key: Bools
    kept_key: Bools
    key_age: Ints
    entry: Ints

    @classmethod
    @lru_cache(maxsize=32)  # nobody writes to them
    def of(cls, capacity: int, beam: int) -> "RingTables":
        own_key = np.zeros((capacity, beam, capacity * beam), np.bool_)
        beams = np.arange(beam)
        for ring_slot in range(capacity):
            own_key[ring_slot, beams, ring_slot * beam + beams] = True
        ages = (np.arange(capacity)[:, None] - np.arange(capacity)[None, :]) % capacity
        entry = np.arange(capacity * beam).reshape(capacity, beam, 1)
        kept_key = np.logical_not(own_key.any(axis=1, keepdims=True))
        return cls(own_key, kept_key, np.repeat(ages, beam, axis=1), entry)


class DecoderState:
    """`slots` sentences of up to `source_length` pieces, `beam` rows each, and their `memory`.

    A step reads `current` rows and everything else, writes the rings, and fills `following` rows and the candidates;
    `tick` then makes the following rows current. `clock` counts steps. A row at position p writes ring slot p mod
    capacity, whenever its sentence came: so the entries of a past lie, and are added up, in the same order in any
    company.
    """

    def __init__(
        self,
        manifest: Manifest,
        slots: int,
        beam: int,
        source_length: int,
        memory: Memory,
        capacity: int | None = None,
    ) -> None:
        """`capacity`: ring slots, None for as many as the manifest says."""
        heads, capacity = manifest.num_heads, capacity or manifest.ring_capacity
        self.memory = memory
        entries = capacity * beam
        self.slots, self.beam, self.capacity, self.source_length = slots, beam, capacity, source_length
        self.rows = (Rows.empty(slots, beam, entries), Rows.empty(slots, beam, entries))
        self.is_row: Bools = np.zeros((slots, beam), np.bool_)
        self.position: Ints = np.zeros(slots, np.int64)
        self.is_running: Ints = np.zeros(slots, np.int64)
        self.own_key: Bools = np.zeros((slots, beam, entries), np.bool_)
        self.kept_key: Bools = np.zeros((slots, 1, entries), np.bool_)
        self.key_age: Ints = np.zeros((slots, entries), np.int64)
        self.write_index: Ints = np.zeros((slots, beam, heads, 3), np.int64)
        self.write_index[..., 0] = np.arange(slots)[:, None, None]
        self.write_index[..., 1] = np.arange(heads)[None, None, :]
        self._write_entry: Ints = self.write_index[..., 2]
        self.first_row: Ints = np.arange(slots)[:, None] * beam
        self.num_rows: Ints = np.array([beam])
        self.num_candidates: Ints = np.array([2 * beam])
        self.source_keep: Flags = np.zeros((slots, source_length), np.int32)
        self._beams, self._pieces = np.arange(beam), np.arange(source_length)
        wide = (slots, 2 * beam)
        self.candidates = Candidates(np.zeros(wide, np.float32), np.zeros(wide, np.int64), np.zeros(wide, np.int64))
        self.source_keep[:, 0] = 1  # idle slots attend to one zero key, so that their arithmetic stays finite
        self._tables = RingTables.of(capacity, beam)
        self.clock = 0
        self._turn_rings()

    def inputs(self, turn: int) -> dict[str, Array]:
        """What a step reads of the rows when `rows[turn]` are current, by name."""
        rows = self.rows[turn]
        return {
            "token": rows.token,
            "parent": rows.parent,
            "score": rows.score,
            "ancestry": rows.ancestry,
            "is_row": self.is_row,
            "position": self.position,
            "own_key": self.own_key,
            "kept_key": self.kept_key,
            "key_age": self.key_age,
            "write_index": self.write_index,
            "first_row": self.first_row,
            "num_rows": self.num_rows,
            "num_candidates": self.num_candidates,
            "source_keep": self.source_keep,
        }

    def outputs(self, turn: int) -> dict[str, Array]:
        """Where such a step writes its candidates, by name, and the following rows that it chooses among them."""
        after = self.rows[1 - turn]
        return {
            "candidate_score": self.candidates.score,
            "candidate_token": self.candidates.token,
            "candidate_parent": self.candidates.parent,
            "next_token": after.token,
            "next_parent": after.parent,
            "next_score": after.score,
            "next_ancestry": after.ancestry,
        }

    def _turn_rings(self) -> None:
        """Let the next step of every slot write the ring slot of its position."""
        ring_slot, tables = self.position % self.capacity, self._tables
        # Into the arrays that graphs are bound to; "clip" is what spares a copy. Ten times as fast as indexing.
        tables.own_key.take(ring_slot, 0, self.own_key, "clip")
        tables.kept_key.take(ring_slot, 0, self.kept_key, "clip")
        tables.key_age.take(ring_slot, 0, self.key_age, "clip")
        self._write_entry[:] = tables.entry.take(ring_slot, 0)

    def _begin(self, slot: int) -> None:
        """Let the next step of a slot be its first."""
        self.position[slot] = 0
        tables = self._tables
        self.own_key[slot], self.kept_key[slot] = tables.own_key[0], tables.kept_key[0]
        self.key_age[slot], self._write_entry[slot] = tables.key_age[0], tables.entry[0]

    def tick(self) -> None:
        """After a step: its rows become current, and running sentences move to their next position and ring slot."""
        self.position += self.is_running
        self.clock += 1
        self._turn_rings()

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
        self.memory.admit(slot, sentence)
        self.source_keep[slot] = self._pieces < sentence.length
        rows = self.current
        rows.token[slot] = first_token
        rows.parent[slot] = self._beams
        rows.score[slot] = DEAD_SCORE
        rows.score[slot, 0] = 0
        rows.ancestry[slot] = False
        self.is_row[slot] = self._beams < beam_size
        self.is_running[slot] = 1
        self._begin(slot)

    def release(self, slot: int) -> None:
        """Leave the slot idle: no live row, and one source key, so that nothing of the sentence is read again."""
        self.current.score[slot] = DEAD_SCORE
        self.is_row[slot] = False
        self.is_running[slot] = 0
        self._begin(slot)
        self.source_keep[slot] = self._pieces < 1
        self.memory.release(slot)

    def copy_slots(self, other: "DecoderState", slots: Sequence[int]) -> None:
        """Continue `slots` of another state here, in slots 0, 1, ...; only valid before this state's first step, and
        where both rings have a slot for every entry that is some row's past."""
        count, keep = len(slots), list(slots)
        width = min(self.source_length, other.source_length)
        entries = min(self.capacity, other.capacity) * self.beam
        self.clock = other.clock
        mine, theirs = self.current, other.current
        for here, there in (
            (mine.token, theirs.token),
            (mine.parent, theirs.parent),
            (mine.score, theirs.score),
            (self.is_row, other.is_row),
            (self.position, other.position),
            (self.is_running, other.is_running),
        ):
            here[:count] = there[keep]
        mine.ancestry[:count, :, :entries] = theirs.ancestry[keep, :, :entries]
        self._turn_rings()
        self.source_keep[:count, :width] = other.source_keep[keep, :width]
        self.memory.copy_slots(other.memory, keep)

"""The rows of one running batch, slots x beams, as NumPy arrays that the engine reads and writes in every step."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from server.artifact.manifest import Manifest
from server.backends.arrays import Array as Array
from server.backends.arrays import Bools as Bools
from server.backends.arrays import Flags as Flags
from server.backends.arrays import Floats as Floats
from server.backends.arrays import Ints as Ints
from server.backends.entry_blocks import BLOCK, FIRST, EntryBlocks, live_entries
from server.backends.memory import Encoded as Encoded
from server.backends.memory import HostMemory, Memory
from server.backends.memory import Layout as Layout
from server.backends.memory import document_layout as document_layout
from server.backends.ring_tables import RingTables

DEAD_SCORE = np.float32(-1e30)
"""Cumulative score of a row without a hypothesis: its candidates are never among the best."""
NO_TOKEN = -1
"""The token of the candidates of an idle slot, until a step computes them."""


@dataclass(frozen=True)
class Candidates:
    """Best continuations of every slot, best first: each array [slot, 2*beam]. Overwritten by the next step."""

    score: Floats
    token: Ints
    parent: Ints


@dataclass(frozen=True)
class Rows:
    """The rows of a step: last token, parent beam, cumulative log-probability in nats (each [slot, beam]), and
    ancestry: the ring entries of a row's own past ([slot, beam, entry])."""

    token: Ints
    parent: Ints
    score: Floats
    ancestry: Bools

    @classmethod
    def empty(cls, slots: int, beam: int, entries: int) -> "Rows":
        parent: Ints = np.tile(np.arange(beam), (slots, 1))
        score: Floats = np.full((slots, beam), DEAD_SCORE)
        return cls(np.zeros((slots, beam), np.int64), parent, score, np.zeros((slots, beam, entries), np.bool_))


class DecoderState:
    """`slots` sentences of up to `source_length` pieces, `beam` rows each, and their `memory`. Where the memory keeps
    them, the arrays `ancestry`, `own_key`, `kept_key` and `key_age` have no entries, and `write_index` stays as it is.

    A step reads `current` rows and everything else, writes the rings, and fills `following` rows and the candidates;
    `tick` then makes the following rows current. `clock` counts steps. A row at position p writes ring slot p mod
    capacity, whenever its sentence arrived; with `reuses_entries` later rows write entries that no live row of their
    slot attends to (server/backends/entry_blocks.py). Either way the entries of a row's past are stored, and added up,
    in the same order in any batch.
    """

    def __init__(
        self,
        manifest: Manifest,
        slots: int,
        beam: int,
        source_length: int,
        memory: Memory,
        capacity: int | None = None,
        reuses_entries: bool = False,
    ) -> None:
        """`capacity`: ring slots, None for the manifest's capacity. `reuses_entries`: for full attention only."""
        heads, capacity = manifest.num_heads, capacity or manifest.ring_capacity
        self.memory, self.num_words = memory, manifest.vocabulary_size
        self._has_tables = not memory.keeps_rows
        entries = capacity * beam if self._has_tables else 0
        self.slots, self.beam, self.capacity, self.source_length = slots, beam, capacity, source_length
        self.batch_size = slots
        """The next step runs over so many slots, the first ones; fewer than all only where the memory allows it."""
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
        self.num_entries: Ints = np.array([entries])
        self.source_keep: Flags = np.zeros((slots, source_length), np.int32)
        self._beams, self._pieces = np.arange(beam), np.arange(source_length)
        wide = (slots, 2 * beam)
        score: Floats = np.full(wide, DEAD_SCORE)
        token: Ints = np.full(wide, NO_TOKEN)
        self.candidates = Candidates(score, token, np.zeros(wide, np.int64))
        self.source_keep[:, 0] = 1  # idle slots attend to one zero key, so that their arithmetic stays finite
        self._tables = RingTables.of(capacity, beam)
        self._max_positions = manifest.ring_capacity
        self._has_window = manifest.order is not None
        self.reuses_entries = reuses_entries and self._has_tables and capacity >= FIRST
        self._blocks: EntryBlocks | None = None
        """The entries that slots write, while one of them has passed FIRST positions."""
        self.lacks_room = False
        """Whether there are slots without room."""
        self._next_block = 0
        """No slot has another block of entries before the clock stands here."""
        self._more_entries = 0
        """Entries that the rows of the furthest sentence add in a step."""
        self.clock = 0
        self._select_entries()

    def inputs(self, parity: int) -> dict[str, Array]:
        """Inputs of a step at a clock of this parity, when `rows[parity]` are current, by name."""
        rows = self.rows[parity]
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
            "num_entries": self.num_entries,
            "source_keep": self.source_keep,
        }

    def outputs(self, parity: int) -> dict[str, Array]:
        """Outputs of such a step: candidates, and the following rows, chosen among them, by name."""
        following = self.rows[1 - parity]
        return {
            "candidate_score": self.candidates.score,
            "candidate_token": self.candidates.token,
            "candidate_parent": self.candidates.parent,
            "next_token": following.token,
            "next_parent": following.parent,
            "next_score": following.score,
            "next_ancestry": following.ancestry,
        }

    def _select_entries(self) -> None:
        """Let the next step of every slot write the ring slot of its position, or entries of its block."""
        if not self._has_window:
            self.num_entries += self._more_entries
            if self.clock >= self._next_block:
                self._start_blocks()
                self._count_entries()
        if not self._has_tables:
            return
        if self._blocks is not None:
            self._blocks.select(self.position, self.own_key, self.kept_key, self._write_entry)
            return
        ring_slot, tables = self.position % self.capacity, self._tables
        # Into the arrays that graphs are bound to; mode "clip" avoids a copy. Ten times as fast as indexing.
        tables.own_key.take(ring_slot, 0, self.own_key, "clip")
        tables.kept_key.take(ring_slot, 0, self.kept_key, "clip")
        tables.key_age.take(ring_slot, 0, self.key_age, "clip")
        self._write_entry[:] = tables.entry.take(ring_slot, 0)

    def _start_blocks(self) -> None:
        """Choose the entries of slots that begin another block of steps."""
        positions, rows = self.position.tolist(), self.current
        if not self.reuses_entries or max(positions) < FIRST:
            return
        if self._blocks is None:
            self._blocks = EntryBlocks(self.slots, self.capacity, self.beam, self._max_positions)
        starting = [slot for slot, at in enumerate(positions) if at >= FIRST and at % BLOCK == 0]
        if starting:
            is_live = rows.score[starting] > DEAD_SCORE / 2
            self._blocks.start(starting, live_entries(rows.ancestry[starting], rows.parent[starting], is_live))

    def _count_entries(self) -> None:
        """Count the entries in use; until `_next_block` they change by `_more_entries` in a step."""
        positions = self.position.tolist()
        self._next_block = self.clock + BLOCK - max([position % BLOCK for position in positions])
        used, self._more_entries = (max(positions) + 1) * self.beam, self.beam
        if max(positions) < FIRST:
            self._blocks = None
        elif self._blocks is not None:
            late = [count for count, at in zip(self._blocks.num_used, positions, strict=True) if at >= FIRST]
            used, self._more_entries = max(FIRST * self.beam, *late), 0
        self.num_entries[0] = min(used, self.capacity * self.beam)
        self.lacks_room = bool(self.slots_without_room())

    def slots_without_room(self) -> list[int]:
        """Slots whose next step would overwrite what their rows attend to."""
        if self.capacity == self._max_positions:
            return []
        if self._blocks is not None:
            return [slot for slot, has_room in enumerate(self._blocks.has_room) if not has_room]
        return [slot for slot, position in enumerate(self.position.tolist()) if position >= self.capacity]

    @property
    def num_ring_slots(self) -> int:
        """Ring slots that the next step of all slots needs; more than there are if a slot has no room."""
        furthest = int(self.position.max()) + 1
        if self._blocks is None:
            return furthest
        return self.capacity + 1 if self.lacks_room else -(-int(self.num_entries[0]) // self.beam)

    def _reset_position(self, slot: int) -> None:
        """Make the next step of a slot its first."""
        self.position[slot] = 0
        if self._blocks is not None:
            self._blocks.has_room[slot] = True
        if not self._has_window:
            self._count_entries()
        if not self._has_tables:
            return
        tables = self._tables
        self.own_key[slot], self.kept_key[slot] = tables.own_key[0], tables.kept_key[0]
        self.key_age[slot], self._write_entry[slot] = tables.key_age[0], tables.entry[0]

    def tick(self) -> None:
        """After a step: its rows become current, and running sentences move to their next position and ring slot."""
        self.position += self.is_running
        self.clock += 1
        self._select_entries()

    @property
    def current(self) -> Rows:
        """The rows that the next step reads."""
        return self.rows[self.clock % 2]

    @property
    def following(self) -> Rows:
        """The rows that the next step writes."""
        return self.rows[1 - self.clock % 2]

    def admit(self, slot: int, sentence: Encoded, first_token: int, beam_size: int) -> None:
        """Put a sentence into a slot: one live row, no past."""
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
        self._reset_position(slot)

    def release(self, slot: int) -> None:
        """Make the slot idle: no live row, and one source key, so that the sentence is not read again."""
        for scores in (self.rows[0].score, self.rows[1].score, self.candidates.score):  # steps may leave the slot out
            scores[slot] = DEAD_SCORE
        self.candidates.token[slot] = NO_TOKEN
        self.is_row[slot] = False
        self.is_running[slot] = 0
        self._reset_position(slot)
        self.source_keep[slot] = self._pieces < 1
        self.memory.release(slot)

    def reset(self) -> None:
        """Make all slots idle: as before the first step."""
        for rows in self.rows:
            rows.score[:], rows.ancestry[:] = DEAD_SCORE, False
        self.candidates.score[:], self.candidates.token[:] = DEAD_SCORE, NO_TOKEN
        self.batch_size = self.slots
        self.is_row[:] = False
        self.position[:] = self.is_running[:] = 0
        self.source_keep[:] = self._pieces < 1
        for slot in range(self.slots):
            self.memory.release(slot)
        self.clock = self._next_block = 0
        self._select_entries()

    def move_slot(self, source: int, target: int) -> None:
        """Move a sentence to an idle slot, where a step may run over the first slots alone."""
        assert isinstance(self.memory, HostMemory)
        rows = self.current
        for array in (
            rows.token, rows.parent, rows.score, rows.ancestry, self.is_row, self.position, self.is_running,
            self.own_key, self.kept_key, self.key_age, self._write_entry, self.source_keep,
        ):  # fmt: skip
            array[target] = array[source]
        if self._blocks is not None:
            self._blocks.move_slot(source, target)
        self.memory.move_slot(source, target)
        self.release(source)

    def copy_slots(self, other: "DecoderState", slots: Sequence[int]) -> None:
        """Copy `slots` of another state to slots 0, 1, ...; only valid while all slots of this one are idle, and if
        both rings are long enough for every row's past."""
        count, keep = len(slots), list(slots)
        width = min(self.source_length, other.source_length)
        entries = min(self.capacity, other.capacity) * self.beam
        self.clock = other.clock
        rows, other_rows = self.current, other.current
        for copy, original in (
            (rows.token, other_rows.token),
            (rows.parent, other_rows.parent),
            (rows.score, other_rows.score),
            (self.is_row, other.is_row),
            (self.position, other.position),
            (self.is_running, other.is_running),
        ):
            copy[:count] = original[keep]
        rows.ancestry[:count, :, :entries] = other_rows.ancestry[keep, :, :entries]
        if other._blocks is not None:
            self._blocks = EntryBlocks(self.slots, self.capacity, self.beam, self._max_positions)
            self._blocks.copy_slots(other._blocks, keep)
        self._next_block = self.clock
        self._select_entries()
        self.source_keep[:count, :width] = other.source_keep[keep, :width]
        self.memory.copy_slots(other.memory, keep)

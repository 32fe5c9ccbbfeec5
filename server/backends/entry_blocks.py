"""Ring entries that no live row attends to, which a beam search with full attention writes again.

The beams of a sentence have most of their past in common, and of what the rows of a step wrote, the entries of rows
without descendants are never read again. A ring that reuses them is as long as the past of the live rows needs, not as
all rows of all steps. Which entry a row writes depends on its own sentence alone.
"""

from collections.abc import Sequence

import numpy as np

from server.backends.arrays import Bools, Ints
from server.backends.ring_tables import RingTables, written_keys

BLOCK = 8
"""Steps for which a sentence takes free entries at a time: to find them takes longer than all else between two
steps."""
FIRST = 2 * BLOCK
"""Positions before this one have entries of their own: few others are free by then."""


class EntryBlocks:
    """For every slot the entries of its steps before FIRST, and of a block of steps from there on. `num_used`: of these
    slots, entries up to the last that is read or written in the block; `has_room`: whether a slot has enough for it."""

    def __init__(self, slots: int, capacity: int, beam: int, positions: int) -> None:
        """A ring needs room for FIRST positions. `positions`: the most of a sentence."""
        assert capacity >= FIRST
        self._beam, self._all = beam, np.arange(capacity * beam)
        number = np.arange(positions + 1)
        self._row = np.where(number < FIRST, number, FIRST + number % BLOCK)
        self._slot_row = np.arange(slots) * (FIRST + BLOCK)
        tables = RingTables.of(capacity, beam)
        whole = (*range(FIRST), *range(BLOCK))
        self._own_key: Bools = np.tile(tables.own_key[whole, ...], (slots, 1, 1))
        self._kept_key: Bools = np.tile(tables.kept_key[whole, ...], (slots, 1, 1))
        self._entry: Ints = np.tile(tables.entry[whole, ...], (slots, 1, 1))
        self.num_used, self.has_room = [0] * slots, [True] * slots

    def select(self, position: Ints, own_key: Bools, kept_key: Bools, entry: Ints) -> None:
        """Write the tensors of each slot's step at its position to these arrays."""
        row = self._row.take(position, mode="clip") + self._slot_row
        self._own_key.take(row, 0, own_key, "clip")
        self._kept_key.take(row, 0, kept_key, "clip")
        entry[:] = self._entry.take(row, 0)

    def start(self, slots: list[int], live: Bools) -> None:
        """Let the next BLOCK steps of slots write the first entries that are not `live` [slot, entry]."""
        size, count = len(self._all), BLOCK * self._beam
        free: Ints = live.argsort(1, kind="stable")[:, :count]  # in ascending order
        last, last_live = free.max(1).tolist(), (size - 1 - live[:, ::-1].argmax(1)).tolist()
        num_live = live.sum(1).tolist()
        for index, slot in enumerate(slots):
            self.num_used[slot] = max(last[index], last_live[index] if num_live[index] else 0) + 1
            self.has_room[slot] = num_live[index] + count <= size
        if free.shape[1] < count:  # at the end of the longest translation
            free = np.pad(free, ((0, 0), (0, count - free.shape[1])))
        self._set(slots, free.reshape(len(slots), BLOCK, self._beam, 1))

    def _set(self, slots: list[int], entry: Ints) -> None:
        """`entry` [slot, BLOCK, beam, 1]."""
        rows = self._slot_row[slots, None] + self._row[FIRST : FIRST + BLOCK]
        self._entry[rows] = entry
        self._own_key[rows], self._kept_key[rows] = written_keys(entry, self._all)

    def move_slot(self, source: int, target: int) -> None:
        """Let the block of a slot be the one of another."""
        block = self._row[FIRST : FIRST + BLOCK]
        old, new = self._slot_row[source] + block, self._slot_row[target] + block
        for array in (self._own_key, self._kept_key, self._entry):
            array[new] = array[old]
        self.num_used[target], self.has_room[target] = self.num_used[source], self.has_room[source]

    def copy_slots(self, other: "EntryBlocks", slots: Sequence[int]) -> None:
        """Copy `slots` of others, all of whose entries there are here, too, to slots 0, 1, ..."""
        rows = other._slot_row[list(slots), None] + self._row[FIRST : FIRST + BLOCK]
        self._set(list(range(len(slots))), other._entry[rows])
        for new, old in enumerate(slots):
            self.num_used[new] = other.num_used[old]


def live_entries(ancestry: Bools, parent: Ints, is_live: Bools) -> Bools:
    """[slot, entry]: the entries that live rows of the next step inherit from their parents. `ancestry` [slot, beam,
    entry]; `parent` and `is_live` [slot, beam]."""
    inherited = ancestry[np.arange(len(parent))[:, None], parent]
    inherited &= is_live[:, :, None]
    live: Bools = np.logical_or.reduce(inherited, 1)
    return live

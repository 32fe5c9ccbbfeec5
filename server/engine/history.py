"""The choices of the rows of a running batch in their past steps."""

from collections.abc import Sequence

import numpy as np

from server.backends.state import Ints, Rows

Choices = tuple[Sequence[int], Sequence[int]]
"""Tokens and parents of one slot's rows in one step."""


class History:
    """Tokens and parents [step, slot, beam] of the last `length` steps, as many as a sentence can run; the step at
    clock c is stored at c mod `length`."""

    def __init__(self, length: int, slots: int, beam: int) -> None:
        self._tokens: Ints = np.zeros((length, slots, beam), np.int64)
        self._parents: Ints = np.zeros((length, slots, beam), np.int64)

    def add(self, clock: int, rows: Rows) -> None:
        """Store the rows that the step at `clock` chose."""
        index = clock % len(self._tokens)
        self._tokens[index], self._parents[index] = rows.token, rows.parent

    def copy_slots(self, other: "History", slots: Sequence[int], first: int, end: int) -> None:
        """Copy `slots` of another history of the same length to slots 0, 1, ...: the steps at the clocks from `first`
        to before `end`."""
        steps = np.arange(first, end) % len(self._tokens)
        for copy, original in ((self._tokens, other._tokens), (self._parents, other._parents)):
            copy[steps, : len(slots)] = original[steps][:, slots]

    def move_slot(self, source: int, target: int, first: int, end: int) -> None:
        """Copy a slot to another one: the steps at the clocks from `first` to before `end`."""
        steps = np.arange(first, end) % len(self._tokens)
        for array in (self._tokens, self._parents):
            array[steps, target] = array[steps, source]

    def of(self, slot: int, first: int, end: int) -> list[Choices]:
        """The choices of a slot's rows in the steps at the clocks from `first` to before `end`."""
        steps = np.arange(first, end) % len(self._tokens)
        return list(zip(self._tokens[steps, slot].tolist(), self._parents[steps, slot].tolist(), strict=True))

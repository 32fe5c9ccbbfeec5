"""What the rows of a running batch chose in their past steps."""

from collections.abc import Sequence

import numpy as np

from server.backends.state import Ints, Rows

Choices = tuple[Sequence[int], Sequence[int]]
"""The tokens that one slot's rows took in one step, and the rows that each continued."""


class History:
    """Tokens and parents [step, slot, beam] of the last `length` steps, as many as a sentence can run; a step of clock
    c lies at c mod `length`."""

    def __init__(self, length: int, slots: int, beam: int) -> None:
        self._tokens: Ints = np.zeros((length, slots, beam), np.int64)
        self._parents: Ints = np.zeros((length, slots, beam), np.int64)

    def add(self, clock: int, rows: Rows) -> None:
        """Keep the rows that the step at `clock` chose."""
        at = clock % len(self._tokens)
        self._tokens[at], self._parents[at] = rows.token, rows.parent

    def copy_slots(self, other: "History", slots: Sequence[int], first: int, end: int) -> None:
        """Continue `slots` of another history of the same length here, in slots 0, 1, ...: the steps at the clocks from
        `first` to before `end`."""
        at = np.arange(first, end) % len(self._tokens)
        for mine, theirs in ((self._tokens, other._tokens), (self._parents, other._parents)):
            mine[at, : len(slots)] = theirs[at][:, slots]

    def of(self, slot: int, first: int, end: int) -> list[Choices]:
        """What the rows of a slot chose in the steps at the clocks from `first` to before `end`."""
        at = np.arange(first, end) % len(self._tokens)
        return list(zip(self._tokens[at, slot].tolist(), self._parents[at, slot].tolist(), strict=True))

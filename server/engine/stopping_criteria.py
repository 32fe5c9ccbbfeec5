"""When the searches of a running batch are complete."""

import sys
from collections.abc import Sequence

import numpy as np

from server.backends.state import DecoderState, Ints
from server.engine.beam import is_complete


class StoppingCriteria:
    """For every slot: the width of its beam, how many hypotheses are finished, and its maximum length in steps (each
    [slot])."""

    def __init__(self, longest: int) -> None:
        """`longest`: steps of any sentence, at most."""
        self._longest = longest
        self.beam_size: Ints = np.zeros(0, np.int64)
        self.max_length: Ints = np.zeros(0, np.int64)
        self.num_finished: Ints = np.zeros(0, np.int64)
        self.first_limit = sys.maxsize
        """No sentence reaches its maximum length before the clock stands here."""

    def resize(self, slots: int, keep: Sequence[int]) -> None:
        """Move the slots in `keep` to the first of `slots` slots; the others are idle."""
        if not keep:
            self.first_limit = sys.maxsize
        for name, idle in (("beam_size", 1), ("max_length", self._longest), ("num_finished", 0)):
            values: Ints = np.full(slots, idle, np.int64)
            values[: len(keep)] = getattr(self, name)[keep]
            setattr(self, name, values)

    def admit(self, slot: int, beam_size: int, max_length: int, clock: int) -> None:
        """A sentence begins in a slot, with the step at `clock`."""
        self.beam_size[slot], self.max_length[slot], self.num_finished[slot] = beam_size, max_length, 0
        self.first_limit = min(self.first_limit, clock + max_length)

    def move_slot(self, source: int, target: int) -> None:
        """Move a sentence to an idle slot."""
        for values in (self.beam_size, self.max_length, self.num_finished):
            values[target] = values[source]
        self.release(source)

    def release(self, slot: int) -> None:
        """Make the slot idle."""
        self.beam_size[slot], self.max_length[slot], self.num_finished[slot] = 1, self._longest, 0

    def complete(self, state: DecoderState) -> list[int]:
        """The slots whose search is complete. Computes `first_limit` anew."""
        is_over = is_complete(self.num_finished, self.beam_size, state.position, self.max_length)
        is_running = state.is_running > 0
        continuing = np.flatnonzero(~is_over & is_running)
        remaining = self.max_length[continuing] - state.position[continuing]
        self.first_limit = state.clock + int(remaining.min()) if len(remaining) else sys.maxsize
        complete: list[int] = np.flatnonzero(is_over & is_running).tolist()
        return complete

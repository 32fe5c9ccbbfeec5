"""Searches that leave words out: which candidates of a step may extend their rows.

The step graph gives the best candidates of a slot, forbidden ones among them. Forbidden candidates are left out here,
and the best of the others become the following rows. Only candidates among the 2 * beam best can replace forbidden
ones, so a wide beam finds better translations.
"""

from collections.abc import Hashable, Sequence
from typing import Protocol

import numpy as np

from server.backends.state import DEAD_SCORE, DecoderState

State = Hashable
"""What a constraint knows of the ids of a hypothesis so far."""


class Constraint(Protocol):
    """What no hypothesis of a sentence may contain. Used in the engine's thread."""

    @property
    def key(self) -> Hashable:
        """Equal for constraints that forbid the same; can be pickled."""
        ...

    def start(self) -> State:
        """The state before the first token."""
        ...

    def after(self, state: State, token: int) -> State | None:
        """The state with another token, EOS among them; None if it is forbidden there."""
        ...


class ConstrainedRows:
    """The rows of one sentence under a constraint, with the state of each."""

    def __init__(self, constraint: Constraint, beam: int) -> None:
        self._constraint = constraint
        self._states: list[State] = [constraint.start()] * beam

    def force(self, token: int) -> None:
        """The first row takes a given token, which may be forbidden."""
        self._states[0] = self._after(self._states[0], token)

    def choose(self, state: DecoderState, slot: int, beam_size: int, eos: int, has_finished: bool) -> bool:
        """After a step: leave the forbidden ones of the slot's candidates out, and let the best others follow. A step
        in which only forbidden ones could continue a sentence without a finished hypothesis forbids nothing. Returns
        whether any row continues; if not, the search is complete."""
        candidates = state.candidates
        scores, parents, tokens = (
            values[slot].tolist() for values in (candidates.score, candidates.parent, candidates.token)
        )
        possible = [rank for rank, score in enumerate(scores[: 2 * beam_size]) if score > DEAD_SCORE / 2]
        permitted = [
            rank for rank in possible if self._constraint.after(self._states[parents[rank]], tokens[rank]) is not None
        ]
        ends = any(tokens[rank] == eos for rank in permitted[:beam_size])
        if not (has_finished or ends or any(tokens[rank] != eos for rank in permitted)):
            permitted = possible
        self._put_first(state, slot, permitted)
        continuing = [rank for rank in permitted if tokens[rank] != eos][:beam_size]
        rows = state.following
        rows.score[slot] = DEAD_SCORE
        for row, rank in enumerate(continuing):
            rows.token[slot, row], rows.parent[slot, row], rows.score[slot, row] = (
                tokens[rank],
                parents[rank],
                scores[rank],
            )
        chosen = [self._after(self._states[parents[rank]], tokens[rank]) for rank in continuing]
        self._states[: len(chosen)] = chosen
        return bool(continuing)

    def _after(self, state: State, token: int) -> State:
        following = self._constraint.after(state, token)
        return self._constraint.start() if following is None else following

    @staticmethod
    def _put_first(state: DecoderState, slot: int, permitted: Sequence[int]) -> None:
        """Put the permitted candidates first, in their order; the others are dead."""
        candidates = state.candidates
        left_out = sorted({*range(candidates.score.shape[1])} - {*permitted})
        order = np.array([*permitted, *left_out])
        for values in (candidates.score, candidates.parent, candidates.token):
            values[slot] = values[slot][order]
        candidates.score[slot, len(permitted) :] = DEAD_SCORE

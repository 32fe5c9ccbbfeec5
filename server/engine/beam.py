"""Beam search over the candidates of a step, as pure functions over NumPy arrays.

A slot is one sentence, a row one of its beams. Step graphs give 2*beam candidates per slot, best first. Hypotheses are
ranked by normalized score = log-probability / length**alpha, EOS counted in the length.
"""

from collections.abc import Sequence

import numpy as np

from server.backends.state import DEAD_SCORE, Bools, Candidates, Ints
from server.engine.history import Choices


def finished_candidates(candidates: Candidates, beam_size: Ints, eos_id: int) -> list[tuple[int, int]]:
    """(slot, rank) of the candidates that complete a hypothesis: EOS among a slot's first `beam_size` candidates."""
    (places,) = (candidates.token.ravel() == eos_id).nonzero()  # flat takes half the time, and this runs in every step
    if not len(places):
        return []
    slots, ranks = np.divmod(places, candidates.token.shape[1])
    complete = (ranks < beam_size[slots]) & (candidates.score[slots, ranks] > DEAD_SCORE / 2)
    return list(zip(slots[complete].tolist(), ranks[complete].tolist(), strict=True))


def normalize(score: float, length: int, alpha: float) -> float:
    """log-probability / length**alpha"""
    return float(score / length**alpha)


def is_complete(num_finished: Ints, beam_size: Ints, length: Ints, max_length: Ints) -> Bools:
    """Slots whose search is complete: as many hypotheses are finished as the beam is wide, or the maximum length is
    reached.

    An earlier stop, as soon as the live rows would lose if they ended now, cuts translations short: live rows often end
    better.
    """
    complete: Bools = (num_finished >= beam_size) | (length >= max_length)
    return complete


def backtrack(history: Sequence[Choices], beam: int) -> list[int]:
    """Token ids of row `beam` after the last step of one slot's `history`."""
    ids = []
    for token, parent in reversed(history):
        ids.append(token[beam])
        beam = parent[beam]
    return ids[::-1]

"""Beam search as small pure functions over NumPy arrays: the plain twins of what step graphs compute, and what the
engine does with the result.

A slot is one sentence, a row one of its beams. Candidates come best first, 2*beam per slot. Hypotheses are ranked by
normalized score = log-probability / length**alpha, EOS counted in the length.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from server.backends.state import DEAD_SCORE, Bools, Candidates, Floats, Ints


def best_candidates(log_probability: Floats, score: Floats, count: int) -> Candidates:
    """The `count` best continuations of every slot.

    log_probability [slot, beam, vocabulary], score [slot, beam]. Ties go to the lower parent, then the lower token.
    """
    slots, beam, vocabulary = log_probability.shape
    total = (log_probability + score[:, :, None]).reshape(slots, beam * vocabulary)
    order = np.argsort(-total, axis=1, kind="stable")[:, :count]
    return Candidates(np.take_along_axis(total, order, axis=1), order % vocabulary, order // vocabulary)


@dataclass(frozen=True)
class Selection:
    """The rows of the next step: parent, token, score [slot, beam], best first."""

    parent: Ints
    token: Ints
    score: Floats


def select(candidates: Candidates, is_row: Bools, eos_id: int) -> Selection:
    """The best candidates that are not EOS go on; rows beyond a sentence's beam size (`is_row` [slot, beam]) are dead.

    A row has one EOS among its continuations, so 2*beam candidates hold `beam` others.
    """
    going_on = np.argsort(candidates.token == eos_id, axis=1, kind="stable")[:, : is_row.shape[1]]
    score = np.take_along_axis(candidates.score, going_on, axis=1)
    return Selection(
        parent=np.take_along_axis(candidates.parent, going_on, axis=1),
        token=np.take_along_axis(candidates.token, going_on, axis=1),
        score=np.where(is_row, score, DEAD_SCORE).astype(np.float32),
    )


def ended(candidates: Candidates, beam_size: Ints, eos_id: int) -> list[tuple[int, int]]:
    """(slot, rank) of the candidates that complete a hypothesis: EOS among a slot's first `beam_size` candidates."""
    (places,) = (candidates.token.ravel() == eos_id).nonzero()  # flat: half the time, in every step
    if not len(places):
        return []
    slots, ranks = np.divmod(places, candidates.token.shape[1])
    complete = (ranks < beam_size[slots]) & (candidates.score[slots, ranks] > DEAD_SCORE / 2)
    return list(zip(slots[complete].tolist(), ranks[complete].tolist(), strict=True))


def normalize(score: float, length: int, alpha: float) -> float:
    """log-probability / length**alpha"""
    return float(score / length**alpha)


def is_complete(num_ended: Ints, beam_size: Ints, length: Ints, max_length: Ints) -> Bools:
    """Slots whose search is over: as many hypotheses ended as the beam is wide, or the maximum length is reached.

    Stopping earlier, as soon as the rows that go on would lose if they ended now, was measured to cost translations
    their ends: rows that go on often end better.
    """
    over: Bools = (num_ended >= beam_size) | (length >= max_length)
    return over


def agreed(history: Sequence[tuple[Ints, Ints]], rows: Sequence[int]) -> list[int]:
    """Token ids of the beginning that `rows` after the last step in `history` (see `backtrack`) have in common. Rows
    are different hypotheses, so that a common beginning is a common ancestor."""
    ancestors, steps = set(rows), len(history)
    while steps and len(ancestors) > 1:
        steps -= 1
        ancestors = {int(history[steps][1][row]) for row in ancestors}
    return backtrack(history[:steps], min(ancestors)) if ancestors else []


def common_beginning(one: Sequence[int], other: Sequence[int]) -> int:
    """How many ids two sequences begin with in common."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def backtrack(history: Sequence[tuple[Ints, Ints]], beam: int) -> list[int]:
    """Token ids of row `beam` after the last step in `history`, whose entries are one slot's chosen (token, parent) at
    every step, each [beam]."""
    ids = []
    for token, parent in reversed(history):
        ids.append(int(token[beam]))
        beam = int(parent[beam])
    return ids[::-1]

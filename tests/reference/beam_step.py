"""A step of beam search in plain NumPy: what step graphs do with log-probabilities.

A slot is one sentence, a row one of its beams; candidates come best first, 2*beam per slot.
"""

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

"""Finds translations that lack a part of their source: the model ended early, or went on behind a clause.

A translation that is short for its source, or whose source is long, is aligned with it
(`server.translation.alignment`). If several words in a row of the source are attended to by no piece of the
translation, it lacks them: the model left them out, or wrote something else in their place. Precision and recall, and
the share of translations that are aligned, are in server/PROMISES.md (`loadtest/bench/completeness_bench.py`).
"""

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from server.backends.alignment import CannotAlign, IdPair
from server.backends.arrays import Floats
from server.engine.request import DeadlineExceeded, EngineStopped, Overloaded
from server.engine.worker import EngineWorker
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload_above
from server.subwords.words import WORD_START
from server.text.base.pieces import Pieces
from server.translation.alignment import weights_of_pairs

MIN_PIECES = 16
"""Pieces of a source, EOS included, at least: shorter ones lose no clause."""
SHORT = 0.9
"""A translation is short with less than this share of the pieces that translations of its model usually have."""
FEWER = 3
"""A short translation lacks more pieces than this: in short sentences a share alone is a word or two."""
MUCH_TOO_SHORT = 0.5
"""The same for a translation that cannot be aligned: it is certain to lack something."""
LONG = 80
"""Pieces of a source whose translation is always aligned: in long sentences the model may also leave a clause out and
write other words instead."""
LEAST_ATTENTION = 0.2
"""Largest weight with which a piece of the translation attends to a word that it does not translate."""
MIN_MISSING = 4
"""Words in a row without translation, at least, that make a clause."""


def is_short(pair: IdPair, usual_ratio: float, share: float = SHORT) -> bool:
    """Whether a translation has few pieces for its source, more than FEWER below the usual number. `usual_ratio`:
    target pieces per source piece."""
    source, target = pair
    usual = usual_ratio * (len(source) - 1)
    return len(source) >= MIN_PIECES and len(target) < min(share * usual, usual - FEWER)


def is_aligned(pair: IdPair, usual_ratio: float) -> bool:
    """Whether a translation is checked for missing words."""
    return len(pair[0]) >= LONG or is_short(pair, usual_ratio)


def num_missing(weights: Floats, pieces: Sequence[str]) -> int:
    """Words of the source in the runs of at least MIN_MISSING words that no piece of the translation attends to.
    `weights` [target piece, source piece], `pieces` of the source without EOS."""
    largest = weights[:, : len(pieces)].max(axis=0) if len(weights) else np.zeros(len(pieces), np.float32)
    words: list[float] = []
    is_word = False
    for piece, weight in zip(pieces, largest.tolist(), strict=True):
        text = piece.removeprefix(WORD_START)
        if piece.startswith(WORD_START):
            is_word = False
        if any(map(str.isalnum, text)):
            if is_word:
                words[-1] = max(words[-1], weight)
            else:
                words.append(weight)
            is_word = True
    runs = (len(list(run)) for is_missing, run in groupby(words, lambda word: word < LEAST_ATTENTION) if is_missing)
    return sum(length for length in runs if length >= MIN_MISSING)


async def count_missing(
    worker: EngineWorker, source_pieces: Pieces, pairs: Sequence[IdPair], deadline: float | None
) -> list[int]:
    """For every pair of ids, how many words of the source are not translated. 0 where that is not known: the model does
    not align words, or is too busy."""
    if not pairs:
        return []
    try:
        weights = await weights_of_pairs(worker, pairs, deadline)
    except (CannotAlign, Overloaded, DeadlineExceeded, EngineStopped):
        return [0] * len(pairs)

    def counts() -> list[int]:
        missing = list[int]()
        for attention, (source, _) in zip(weights, pairs, strict=True):
            checkpoint()
            missing.append(num_missing(attention, source_pieces.spelled(source_pieces.without_eos(tuple(source)))))
        return missing

    return await offload_above(4 * sum(len(source) for source, _ in pairs), counts)


async def find_incomplete(
    worker: EngineWorker, source_pieces: Pieces, pairs: Sequence[IdPair], usual_ratio: float, deadline: float | None
) -> dict[int, int]:
    """Numbers of the pairs whose translations lack words, and how many words (-1: not known)."""
    if not worker.side_tasks.can_align:
        return {number: -1 for number, pair in enumerate(pairs) if is_short(pair, usual_ratio, MUCH_TOO_SHORT)}
    aligned = [number for number, pair in enumerate(pairs) if is_aligned(pair, usual_ratio)]
    counts = await count_missing(worker, source_pieces, [pairs[number] for number in aligned], deadline)
    return {number: count for number, count in zip(aligned, counts, strict=True) if count}

"""Finds translations that lack a part of their source: the model ended early, or went on behind a clause.

A translation that is short for its source, or whose source is long (`server.translation.length_check`), is aligned with
it: by the engine, which has the encoded source at hand, else by one more pass (`server.translation.alignment`). If
several words in a row of the source are attended to by no piece of the translation, it lacks them: the model left them
out, or wrote something else in their place. Precision and recall, and the share of translations that are aligned, are
in server/PROMISES.md (`loadtest/bench/completeness_bench.py`).
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType

from server.backends.alignment import CannotAlign, IdPair, coverage_of
from server.engine.request import DeadlineExceeded, EngineStopped, Overloaded
from server.engine.worker import EngineWorker
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload_above
from server.subwords.words import WORD_START
from server.text.base.pieces import Pieces
from server.translation.alignment import weights_of_pairs
from server.translation.length_check import MUCH_TOO_SHORT, is_aligned, is_short

LEAST_ATTENTION = 0.2
"""Largest weight with which a piece of the translation attends to a word that it does not translate."""
MIN_MISSING = 4
"""Words in a row without translation, at least, that make a clause."""
NONE_KNOWN: Mapping[int, Sequence[float]] = MappingProxyType({})


def num_missing(coverage: Sequence[float], pieces: Sequence[str]) -> int:
    """Words of the source in the runs of at least MIN_MISSING words that no piece of the translation attends to.
    `coverage`: see `coverage_of`; `pieces` of the source without EOS."""
    words: list[float] = []
    is_word = False
    for piece, weight in zip(pieces, coverage[: len(pieces)], strict=True):
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
    return await _count_words(source_pieces, [source for source, _ in pairs], map(coverage_of, weights))


async def _count_words(
    source_pieces: Pieces, sources: Sequence[Sequence[int]], coverages: Iterable[Sequence[float]]
) -> list[int]:
    """`num_missing` of every source; `coverages` are computed beside the event loop, too, where there are many."""

    def counts() -> list[int]:
        missing = list[int]()
        for source, coverage in zip(sources, coverages, strict=True):
            checkpoint()
            missing.append(num_missing(coverage, source_pieces.spelled(source_pieces.without_eos(tuple(source)))))
        return missing

    return await offload_above(4 * sum(map(len, sources)), counts)


async def find_incomplete(
    worker: EngineWorker,
    source_pieces: Pieces,
    pairs: Sequence[IdPair],
    usual_ratio: float,
    deadline: float | None,
    coverages: Mapping[int, Sequence[float]] = NONE_KNOWN,
) -> dict[int, int]:
    """Numbers of the pairs whose translations lack words, and how many words (-1: not known). `coverages`: of the pairs
    that are not to be aligned any more, by number."""
    if not worker.side_tasks.can_align:
        return {number: -1 for number, pair in enumerate(pairs) if is_short(pair, usual_ratio, MUCH_TOO_SHORT)}
    aligned = [number for number, pair in enumerate(pairs) if is_aligned(pair, usual_ratio)]
    known = [number for number in aligned if number in coverages]
    others = [number for number in aligned if number not in coverages]
    sources = [pairs[number][0] for number in known]
    counts = await _count_words(source_pieces, sources, [coverages[number] for number in known])
    counts += await count_missing(worker, source_pieces, [pairs[number] for number in others], deadline)
    return {number: count for number, count in sorted(zip([*known, *others], counts, strict=True)) if count}

"""Aligns words of translations with words of their sources: one more pass of the model over both, when asked for.

Every word of a translation is paired with the words of the source that its pieces look at most. A sentence is aligned
by itself, also where it was translated with context.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np

from server.backends.arrays import Array, Floats
from server.engine.request import DeadlineExceeded, SentenceResult
from server.engine.worker import EngineWorker
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload_above
from server.text.base.pieces import Pieces
from server.text.base.words import Place, find_spans, match_words, word_ids, words_of
from server.text.markup.tags import Pair, strip_tags
from server.text.protect.protection import Masked
from server.text.split.plan import PlannedSentence
from server.translation.assembly import Work

LEAST = 0.3
"""The least share of a translated word's attention to source words with which a source word is linked to it; chosen on
links between dictionary words (see server/RESULTS.md)."""
MOST_TOKENS = 1024
"""Padded tokens that are aligned together: about one encoder batch. Running sentences wait meanwhile."""


@dataclass(frozen=True)
class ToAlign:
    """A sentence without tags, how the model read it (`planned`), the ids of its translation, and the text that is
    shown for them."""

    sentence: str
    planned: PlannedSentence
    ids: tuple[int, ...]
    shown: str


async def align_work(
    worker: EngineWorker,
    vocabularies: tuple[Pieces, Pieces],
    work: Work,
    results: Sequence[SentenceResult],
) -> list[list[tuple[Pair, ...]]]:
    """For every sentence of `work`, the pairs of words of those hypotheses that need them: the best one where the
    request asks for an alignment, all where tags are to be set. Raises what `align` raises."""
    items = await offload_above(work.num_chars, _to_align, vocabularies[1], work, results)
    flat = [item for of_sentence in items for item in of_sentence]
    pairs = iter(await align(worker, vocabularies, flat, work.options.deadline) if flat else [])
    return [[next(pairs) for _ in of_sentence] for of_sentence in items]


def _to_align(target_pieces: Pieces, work: Work, results: Sequence[SentenceResult]) -> list[list[ToAlign]]:
    """What is to be aligned of every sentence."""
    items: list[list[ToAlign]] = []
    remaining = iter(results)
    for plan in work.plans:
        for source, planned in zip(plan.sentences, plan.planned, strict=True):
            checkpoint()
            hypotheses = next(remaining).hypotheses
            wanted = len(hypotheses) if planned.tags else int(work.aligns)
            sentence = strip_tags(source)[0] if planned.tags else source
            shown = [planned.restore(one.ids, target_pieces).text for one in hypotheses[:wanted]]
            items.append(
                [ToAlign(sentence, planned, one.ids, text) for one, text in zip(hypotheses, shown, strict=False)]
            )
    return items


async def align(
    worker: EngineWorker, vocabularies: tuple[Pieces, Pieces], items: Sequence[ToAlign], deadline: float | None
) -> list[tuple[Pair, ...]]:
    """The pairs of words of every item, as places in `sentence` and in `shown`. `deadline` is a time.monotonic()
    value. Raises CannotAlign, Overloaded, EngineStopped, DeadlineExceeded."""
    await asyncio.to_thread(worker.prepare_alignments)
    found: dict[int, Floats] = {}
    owner, sent = object(), list[tuple[list[int], Future[list[Floats]]]]()
    try:
        for numbers in _batches(items):
            pairs = [(items[number].planned.ids, items[number].ids) for number in numbers]
            sent.append((numbers, worker.align(pairs, owner)))
        async with asyncio.timeout(None if deadline is None else deadline - time.monotonic()):
            for numbers, future in sent:
                weights = await asyncio.wrap_future(future)
                found.update(zip(numbers, weights, strict=True))
    except TimeoutError:
        raise DeadlineExceeded("the engine did not answer by the deadline") from None
    finally:
        for _, future in sent:
            future.cancel()
    return await offload_above(
        sum(len(item.sentence) for item in items),
        lambda: [pairs_of(item, vocabularies, found[number]) for number, item in enumerate(items)],
    )


def _batches(items: Sequence[ToAlign]) -> Iterator[list[int]]:
    """The numbers of items of like length, at most MOST_TOKENS of source and target together."""
    batch: list[int] = []
    for number in sorted(range(len(items)), key=lambda one: _length(items[one])):
        if batch and _length(items[number]) * (len(batch) + 1) > MOST_TOKENS:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def _length(item: ToAlign) -> int:
    return len(item.planned.ids) + len(item.ids)


def pairs_of(item: ToAlign, vocabularies: tuple[Pieces, Pieces], weights: Floats) -> tuple[Pair, ...]:
    """The pairs of words of an item, made of its `weights` [piece, source]. Protected spans are linked to themselves
    only."""
    checkpoint()
    masked, protected = item.planned.masked, dict(enumerate(item.planned.masked.places, 1))
    shown = find_spans([span.text for span in masked.spans], item.shown)
    source, of_source = _words(item.planned.ids, vocabularies[0], masked, item.sentence, protected)
    target, of_target = _words(item.ids, vocabularies[1], masked, item.shown, shown)
    looked = _sums(_sums(weights, of_target, len(target)).T, of_source, len(source)).T  # [word, source word]
    total = looked.sum(axis=1, keepdims=True)
    pairs = {(protected[number], place) for number, place in shown.items()}
    for to, come_from in np.argwhere((looked >= LEAST * total) & (total > 0)).tolist():
        ours, theirs = source[come_from], target[to]
        if ours is not None and theirs is not None:
            pairs.add((ours, theirs))
    return tuple(sorted(pairs))


def _sums(weights: Array, words: Sequence[int | None], count: int) -> Array:
    """The rows of [piece, x] that belong to the same word added up: [word, x]. None is a row that belongs to none."""
    sums = np.zeros((count, weights.shape[1]), np.float64)
    rows = {row: word for row, word in enumerate(words) if word is not None}
    np.add.at(sums, list(rows.values()), weights[list(rows)])
    return sums


def _words(
    ids: Sequence[int], vocabulary: Pieces, masked: Masked, text: str, protected: Mapping[int, Place]
) -> tuple[list[Place | None], list[int | None]]:
    """The places in `text` of the words that `ids` spell, None for what is protected or missing; and for every id the
    number of its word, None for punctuation."""
    spelled, pieces = vocabulary.decode_with_offsets(ids)
    read = words_of(spelled, masked.find_masks(spelled))
    shown = words_of(text, sorted((place, number) for number, place in protected.items()))
    places = match_words(read, shown)
    return [None if word.mask else place for word, place in zip(read, places, strict=True)], word_ids(read, pieces)

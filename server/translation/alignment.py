"""Aligns words of translations with words of their sources by one more pass of the model over both.

Every word of a translation is paired with the source words that its pieces attend to most. A sentence is aligned
without context, even if it was translated with context.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np

from server.backends.alignment import IdPair
from server.backends.arrays import Array, Floats
from server.engine.batches import ENCODE_TOKENS
from server.engine.request import DeadlineExceeded, SentenceResult
from server.engine.side_tasks import SideTasks
from server.engine.worker import EngineWorker
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload_above
from server.text.base.pieces import Pieces
from server.text.base.words import Place, find_spans, match_words, word_ids, words_of
from server.text.markup.tags import Pair, strip_tags
from server.text.protect.masks import Masked
from server.text.split.plan import PlannedSentence
from server.translation.planning import PlannedRequest

LEAST = 0.3
"""The least share of a translated word's attention to source words with which a source word is linked to it; chosen on
links between dictionary words (see server/RESULTS.md)."""
MOST_TOKENS = ENCODE_TOKENS
"""Padded tokens that are aligned together. Running sentences wait meanwhile."""
MOST_UNEVEN = 1.25
"""The longest pair that is aligned together with another, in the other's length: shorter ones are padded."""


@dataclass(frozen=True)
class AlignmentItem:
    """A sentence without tags, the input of the model (`planned`), the ids of the translation, and its text
    (`shown`)."""

    sentence: str
    planned: PlannedSentence
    ids: tuple[int, ...]
    shown: str


async def align_hypotheses(
    worker: EngineWorker,
    vocabularies: tuple[Pieces, Pieces],
    planned: PlannedRequest,
    results: Sequence[SentenceResult],
) -> list[list[tuple[Pair, ...]]]:
    """For every sentence of a request, the pairs of words of the hypotheses that need them: the best one if the request
    aligns, all if the sentence has tags or words in capitals. Raises what `align` raises."""
    items = await offload_above(planned.num_chars, _items_of, vocabularies[1], planned, results)
    flat = [item for of_sentence in items for item in of_sentence]
    pairs = iter(await align(worker, vocabularies, flat, planned.request.options.deadline) if flat else [])
    return [[next(pairs) for _ in of_sentence] for of_sentence in items]


def _items_of(
    target_pieces: Pieces, request: PlannedRequest, results: Sequence[SentenceResult]
) -> list[list[AlignmentItem]]:
    """The hypotheses of every sentence that are to be aligned."""
    items: list[list[AlignmentItem]] = []
    remaining = iter(results)
    for plan in request.plans:
        for source, planned in zip(plan.sentences, plan.planned, strict=True):
            checkpoint()
            hypotheses = next(remaining).hypotheses
            wanted = len(hypotheses) if planned.needs_alignment else int(request.request.aligns)
            sentence = strip_tags(source)[0] if planned.tags else source
            shown = [planned.restore(hypothesis.ids, target_pieces).text for hypothesis in hypotheses[:wanted]]
            items.append(
                [
                    AlignmentItem(sentence, planned, hypothesis.ids, text)
                    for hypothesis, text in zip(hypotheses, shown, strict=False)
                ]
            )
    return items


async def align(
    worker: EngineWorker, vocabularies: tuple[Pieces, Pieces], items: Sequence[AlignmentItem], deadline: float | None
) -> list[tuple[Pair, ...]]:
    """The pairs of words of every item, as places in `sentence` and in `shown`. `deadline` is a time.monotonic()
    value. Raises CannotAlign, Overloaded, EngineStopped, DeadlineExceeded."""
    weights = await weights_of_pairs(worker, [(item.planned.ids, item.ids) for item in items], deadline)
    return await offload_above(
        sum(len(item.sentence) for item in items),
        lambda: [aligned_pairs(item, vocabularies, of_item) for item, of_item in zip(items, weights, strict=True)],
    )


async def prepare_alignments(side_tasks: SideTasks) -> None:
    """Load the graphs that align, at the first call. Raises CannotAlign and ArtifactError."""
    if not side_tasks.is_prepared_to_align:
        await asyncio.to_thread(side_tasks.prepare_alignments)


async def weights_of_pairs(worker: EngineWorker, pairs: Sequence[IdPair], deadline: float | None) -> list[Floats]:
    """The alignment weights [target piece, source piece] of every pair. Raises what `align` raises."""
    await prepare_alignments(worker.side_tasks)
    weights_of: dict[int, Floats] = {}
    owner, submitted = object(), list[tuple[list[int], Future[list[Floats]]]]()
    try:
        for numbers in _batches(pairs):
            submitted.append((numbers, worker.side_tasks.align([pairs[number] for number in numbers], owner)))
        async with asyncio.timeout(None if deadline is None else deadline - time.monotonic()):
            for numbers, future in submitted:
                weights = await asyncio.wrap_future(future)
                weights_of.update(zip(numbers, weights, strict=True))
    except TimeoutError:
        raise DeadlineExceeded("the engine did not answer by the deadline") from None
    finally:
        for _, future in submitted:
            future.cancel()
    return [weights_of[number] for number in range(len(pairs))]


def _batches(pairs: Sequence[IdPair]) -> Iterator[list[int]]:
    """Numbers of pairs of similar length, with at most MOST_TOKENS padded tokens of source and target."""
    batch: list[int] = []
    for number in sorted(range(len(pairs)), key=lambda number: _length(pairs[number])):
        length = _length(pairs[number])
        if batch and (length * (len(batch) + 1) > MOST_TOKENS or length > MOST_UNEVEN * _length(pairs[batch[0]])):
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def _length(pair: IdPair) -> int:
    return len(pair[0]) + len(pair[1])


def aligned_pairs(item: AlignmentItem, vocabularies: tuple[Pieces, Pieces], weights: Floats) -> tuple[Pair, ...]:
    """The pairs of words of an item, made of its `weights` [piece, source]. Protected spans are linked to themselves
    only."""
    checkpoint()
    masked, protected = item.planned.masked, dict(enumerate(item.planned.masked.places, 1))
    shown = find_spans([span.text for span in masked.spans], item.shown)
    source, of_source = _words(item.planned.ids, vocabularies[0], masked, item.sentence, protected)
    target, of_target = _words(item.ids, vocabularies[1], masked, item.shown, shown)
    attention = _sum_by_word(
        _sum_by_word(weights, of_target, len(target)).T, of_source, len(source)
    ).T  # [word, source word]
    total = attention.sum(axis=1, keepdims=True)
    pairs = {(protected[number], place) for number, place in shown.items()}
    for to_word, from_word in np.argwhere((attention >= LEAST * total) & (total > 0)).tolist():
        source_place, target_place = source[from_word], target[to_word]
        if source_place is not None and target_place is not None:
            pairs.add((source_place, target_place))
    return tuple(sorted(pairs))


def _sum_by_word(weights: Array, words: Sequence[int | None], count: int) -> Array:
    """[piece, x] -> [word, x]: the sums of the rows of each word; `words` has the word of each row, None for none."""
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

"""Log-probabilities of given translations, with the context of a document and without."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from model.config import PAD_ID
from model.data.batching import Batch, Pair, collate
from model.data.items import ContrastiveItem
from model.data.vocabulary import Vocabulary
from model.document import DocumentModel, Words, is_word, words_of
from model.language_model import LanguageModel
from model.masks import distance_before
from model.translation_model import TranslationModel


def log_probabilities(model: TranslationModel | LanguageModel, hidden: Tensor, target_out: Tensor) -> Tensor:
    """hidden [row, target, d], target_out [row, target] ending with EOS -> summed log-probability [row], nats."""
    chosen = torch.log_softmax(model.embedding.logits(hidden).float(), dim=-1).gather(2, target_out[:, :, None])[
        :, :, 0
    ]
    return chosen.masked_fill(target_out == PAD_ID, 0).sum(dim=-1)


@torch.no_grad()
def score_alone(model: TranslationModel, source: list[int], targets: Sequence[list[int]]) -> list[float]:
    """log p(target | source) of each target, in nats. Ids come without EOS, but its probability counts."""
    batch = batch_of(source, targets)
    encoder_output = model.encode(batch.source, batch.source_keep)
    hidden = model.decode(batch.target_in, encoder_output, batch.source_keep)
    return [float(score) for score in log_probabilities(model, hidden, batch.target_out)]


@torch.no_grad()
def score_in_context(
    model: DocumentModel, source: list[int], targets: Sequence[list[int]], context: Sequence[Pair]
) -> list[float]:
    """log p(target | source, context) of each target, in nats. `context` are the sentences before it in the document;
    their targets matter on the decoder's side only. Without context this is `score_alone`."""
    context = within_reach(model, context)
    if not context:
        return score_alone(model.base, source, targets)
    batch = batch_of(source, targets)
    store = model.store(words_of(model.base, model.config.side, collate(context)))
    hidden = model.hidden(batch, store, distance_before(len(context)).expand(len(targets), -1))
    return [float(score) for score in log_probabilities(model.base, hidden, batch.target_out)]


def within_reach(model: DocumentModel, context: Sequence[Pair]) -> list[Pair]:
    """The sentences of `context` that a sentence after them may attend to."""
    return list(context)[-(model.config.reach or len(context)) :]


class Item(NamedTuple):
    """A source sentence, the translations to compare and the sentences before it."""

    source: list[int]
    targets: list[list[int]]
    context: list[Pair]
    """Their targets matter on the decoder's side only."""


def encode_items(vocabulary: Vocabulary, items: Sequence[ContrastiveItem]) -> list[Item]:
    """Reference first, then the wrong translations; contexts without their translations."""
    encoded = []
    for item in items:
        source, *targets = vocabulary.encode([item.source, item.reference, *item.wrong])
        encoded.append(Item(source, targets, [Pair(ids, []) for ids in vocabulary.encode([*item.source_context])]))
    return encoded


def prefers_reference(scores: Sequence[float]) -> bool:
    """`scores` of the reference and then of the wrong translations; equal is not preferred."""
    return all(scores[0] > score for score in scores[1:])


@torch.no_grad()
def score_items(model: DocumentModel, items: Sequence[Item], max_tokens: int = 4096) -> list[list[float]]:
    """`score_in_context` of every item, many at once: sentences encoded once, contexts prepared together."""
    if not model.on_encoder:
        return [score_in_context(model, item.source, item.targets, item.context) for item in items]
    items = [item._replace(context=within_reach(model, item.context)) for item in items]
    return _in_groups(items, max_tokens, lambda some: _score_together(model, some))


@torch.no_grad()
def score_items_alone(model: TranslationModel, items: Sequence[Item], max_tokens: int = 4096) -> list[list[float]]:
    """`score_alone` of every item, many at once; their contexts are not used."""
    items = [item._replace(context=[]) for item in items]
    return _in_groups(items, max_tokens, lambda some: _score_alone_together(model, some))


def _in_groups(
    items: Sequence[Item], max_tokens: int, score: Callable[[list[Item]], list[list[float]]]
) -> list[list[float]]:
    """Items of like size together: about `max_tokens` padded tokens in one call."""
    scores: dict[int, list[float]] = {}
    order = sorted(range(len(items)), key=lambda number: (len(items[number].context), item_width(items[number])))
    group: list[int] = []
    for number in order:
        rows = sum(len(items[index].context) + len(items[index].targets) for index in [*group, number])
        if group and rows * max(item_width(items[index]) for index in [*group, number]) > max_tokens:
            scores |= dict(zip(group, score([items[index] for index in group]), strict=True))
            group = []
        group.append(number)
    if group:
        scores |= dict(zip(group, score([items[index] for index in group]), strict=True))
    return [scores[number] for number in range(len(items))]


def item_width(item: Item) -> int:
    """Its longest sentence, with EOS."""
    return 1 + max(map(len, [item.source, *item.targets, *(pair.source for pair in item.context)]))


def _score_together(model: DocumentModel, items: Sequence[Item]) -> list[list[float]]:
    base, places = model.base, [number for number, item in enumerate(items) for _ in item.targets]
    read = collate([pair for item in items for pair in (Pair(item.source, []), *item.context)])
    encoder_output = base.encode(read.source, read.source_keep)
    first, starts = 0, []
    for item in items:
        starts.append(first)
        first += 1 + len(item.context)
    own = torch.tensor(starts)
    width = max(1, *(len(item.context) for item in items))
    rows = [
        [start + 1 + j if j < len(item.context) else -1 for j in range(width)]
        for start, item in zip(starts, items, strict=True)
    ]
    words = Words(encoder_output, encoder_output, is_word(read.source))
    distance = torch.zeros(len(items), len(encoder_output), dtype=torch.long)
    for number, (start, item) in enumerate(zip(starts, items, strict=True)):
        distance[number, start + 1 : start + 1 + len(item.context)] = distance_before(len(item.context))
    seen = model.attend_within(
        encoder_output[own], encoder_output[own], words, torch.arange(len(items))[:, None], torch.tensor(rows), distance
    ).state
    return _of_targets(base, items, seen[places], read.source_keep[own][places])


def _score_alone_together(model: TranslationModel, items: Sequence[Item]) -> list[list[float]]:
    places = [number for number, item in enumerate(items) for _ in item.targets]
    read = collate([Pair(item.source, []) for item in items])
    encoder_output = model.encode(read.source, read.source_keep)
    return _of_targets(model, items, encoder_output[places], read.source_keep[places])


def _of_targets(
    model: TranslationModel, items: Sequence[Item], encoder_output: Tensor, keep: Tensor
) -> list[list[float]]:
    """memory [row, source, d] and keep bool [row, source], a row for every target of every item."""
    batch = collate([Pair(item.source, target) for item in items for target in item.targets])
    hidden = model.decode(batch.target_in, encoder_output, keep)
    flat = iter(log_probabilities(model, hidden, batch.target_out).tolist())
    return [[next(flat) for _ in item.targets] for item in items]


def batch_of(source: list[int], targets: Sequence[list[int]]) -> Batch:
    return collate([Pair(source, list(target)) for target in targets])

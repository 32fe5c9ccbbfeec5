"""How often a model prefers the right translation, with 95% confidence intervals."""

import dataclasses
import itertools
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from model.data.batching import Pair
from model.data.items import ContrastiveItem
from model.data.vocabulary import Vocabulary
from model.document import DocumentModel
from model.greedy import greedy
from model.scoring import Item, prefers_reference, score_items, score_items_alone
from model.translation_model import TranslationModel

AT_ONCE = 64
"""Items that are scored in one batch."""
Z_95 = 1.959964


@dataclass(frozen=True)
class Accuracy:
    """`low` and `high` are the ends of the 95% Wilson interval."""

    right: int
    items: int
    low: float
    high: float

    @property
    def share(self) -> float:
        return self.right / self.items


def accuracy(right: Sequence[bool]) -> Accuracy:
    items, share = len(right), sum(right) / len(right)
    middle = (share + Z_95**2 / (2 * items)) / (1 + Z_95**2 / items)
    spread = Z_95 / (1 + Z_95**2 / items) * math.sqrt(share * (1 - share) / items + Z_95**2 / (4 * items**2))
    return Accuracy(sum(right), items, max(0.0, middle - spread), min(1.0, middle + spread))


def context_pairs(
    model: DocumentModel, vocabulary: Vocabulary, item: ContrastiveItem, from_reference: bool
) -> list[Pair]:
    """The item's context as ids. On the decoder's side the targets are the model's translations, as in use, or with
    `from_reference` those of the set, if it has any."""
    sources = vocabulary.encode(list(item.source_context))
    if from_reference and item.reference_context:
        targets = vocabulary.encode(list(item.reference_context))
    elif model.on_encoder:
        targets = [[] for _ in sources]
    else:
        targets = greedy(model.base, sources, model.base.config.max_length - 1)  # BOS takes a place, too
    return [Pair(*both) for both in zip(sources, targets, strict=True)]


def evaluate_items(
    model: TranslationModel | DocumentModel,
    vocabulary: Vocabulary,
    items: Iterable[ContrastiveItem],
    from_reference: bool = False,
) -> dict[str, list[bool]]:
    """Condition ("without context", and for a document model "with context") -> is each item right?"""
    base = model.base if isinstance(model, DocumentModel) else model
    right: dict[str, list[bool]] = {"without context": []}
    for some in _chunks(items):
        encoded = [_without_context(vocabulary, item) for item in some]
        right["without context"] += map(prefers_reference, score_items_alone(base, encoded))
        if isinstance(model, DocumentModel):
            in_context = evaluate_in_context(model, vocabulary, some, from_reference)
            right.setdefault("with context", []).extend(in_context)
    return right


def evaluate_in_context(
    model: DocumentModel, vocabulary: Vocabulary, items: Iterable[ContrastiveItem], from_reference: bool = False
) -> list[bool]:
    """Is each item right, with its context?"""
    right: list[bool] = []
    for some in _chunks(items):
        encoded = [
            _without_context(vocabulary, item)._replace(context=context_pairs(model, vocabulary, item, from_reference))
            for item in some
        ]
        right += map(prefers_reference, score_items(model, encoded))
    return right


def with_shuffled_context(items: Sequence[ContrastiveItem], seed: int = 1) -> list[ContrastiveItem]:
    """Every item with the context of another item, each context used once. A control: a gain from any context at all
    shows here too. Raises ValueError for fewer than two items."""
    if len(items) < 2:
        raise ValueError("a context of another item needs two items")
    order = list(range(len(items)))
    random.Random(seed).shuffle(order)
    others = dict(zip(order, [*order[1:], order[0]], strict=True))
    return [
        dataclasses.replace(
            item,
            source_context=items[others[index]].source_context,
            reference_context=items[others[index]].reference_context,
        )
        for index, item in enumerate(items)
    ]


def _chunks(items: Iterable[ContrastiveItem]) -> Iterator[list[ContrastiveItem]]:
    remaining = iter(items)
    while some := list(itertools.islice(remaining, AT_ONCE)):
        yield some


def _without_context(vocabulary: Vocabulary, item: ContrastiveItem) -> Item:
    source, *targets = vocabulary.encode([item.source, item.reference, *item.wrong])
    return Item(source, targets, [])


def by_group(items: Sequence[ContrastiveItem], right: Sequence[bool]) -> dict[str, Accuracy]:
    """Accuracy over all items, and over those of each gender and template."""
    groups: dict[str, list[bool]] = {"all": list(right)}
    for key, value in sorted({group for item in items for group in item.groups}):
        members = [is_right for item, is_right in zip(items, right, strict=True) if (key, value) in item.groups]
        groups[f"{key} {value}"] = members
    return {name: accuracy(members) for name, members in groups.items()}

"""Sentences that look within their own document, many documents at once, against one sentence and its store at a
time; items scored together against items scored one by one."""

import dataclasses
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from model.data.batching import collate
from model.data.documents import PlacedPair, epoch_documents, passages
from model.document import DocumentModel, words_of
from model.scoring import Item, score_alone, score_in_context, score_items, score_items_alone
from tests.documents import lively_document_model, some_pairs


@settings(deadline=None, max_examples=25)
@given(
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    online=st.booleans(),
    reach=st.sampled_from((None, 1, 2)),
    attention=st.sampled_from(("flat-sentence", "flat-word", "sparse-soft", "sparse-sparse")),
    decay=st.sampled_from((None, 0.4, "learned")),
    seed=st.integers(0, 99),
)
def test_attending_within_documents_equals_one_store_each(
    lengths: list[int], online: bool, reach: int | None, attention: str, decay: float | str | None, seed: int
) -> None:
    numbers = random.Random(seed)
    documents = [
        [
            PlacedPair(pair, number, index)
            for index, pair in enumerate(some_pairs(tuple(numbers.randint(1, 7) for _ in range(length)), seed + number))
        ]
        for number, length in enumerate(lengths)
    ]
    (passage,) = passages(epoch_documents({"x": documents}, {"x": 1}, seed, 0), 10_000)
    model, distance = lively_document_model(attention, decay=decay), passage.distance(online, reach)
    batch = collate([sentence.pair for sentence in passage.queries])
    with torch.no_grad():
        words = words_of(model.base, "encoder", batch)
        memory = model.base.encode(batch.source, batch.source_keep)
        together = model.attend_within(memory, memory, words, *passage.grids(), distance).state
        for row in range(len(passage.queries)):
            alone = model.attend(memory[[row]], memory[[row]], model.store(words), distance[[row]])
            real = batch.source_keep[row]
            assert torch.allclose(together[row][real], alone.state[0][real], atol=1e-5)


def some_items(seed: int) -> list[Item]:
    numbers = random.Random(seed)
    items = []
    for number in range(7):
        context = some_pairs(tuple(numbers.randint(1, 6) for _ in range(number % 4)), seed + number)
        source, *targets = (pair.target for pair in some_pairs((4, 5, numbers.randint(1, 6)), 50 + seed + number))
        items.append(Item(source, targets, list(context)))
    return items


@pytest.mark.parametrize("side", ["encoder", "decoder"])
@pytest.mark.parametrize("max_tokens", [1, 60, 10_000])
def test_items_in_a_batch_equal_single_items(side: str, max_tokens: int) -> None:
    model = lively_document_model(side=side)
    items = some_items(3)
    together = score_items(model, items, max_tokens)
    alone = [score_in_context(model, item.source, item.targets, item.context) for item in items]
    assert [pytest.approx(scores, abs=1e-4) for scores in alone] == together


@pytest.mark.parametrize("max_tokens", [1, 60, 10_000])
def test_items_without_context_in_a_batch_equal_single_items(max_tokens: int) -> None:
    model, items = lively_document_model().base, some_items(3)
    alone = [score_alone(model, item.source, item.targets) for item in items]
    assert [pytest.approx(scores, abs=1e-4) for scores in alone] == score_items_alone(model, items, max_tokens)


def test_items_attend_no_further_than_the_reach() -> None:
    model: DocumentModel = lively_document_model()
    model.config = dataclasses.replace(model.config, reach=1)
    items = [item for item in some_items(3) if len(item.context) > 1]
    assert items
    near = [item._replace(context=item.context[-1:]) for item in items]
    for first, other in zip(score_items(model, items), score_items(model, near), strict=True):
        assert first == pytest.approx(other, abs=1e-4)


def test_context_changes_the_scores_of_an_item() -> None:
    model: DocumentModel = lively_document_model()
    items = some_items(3)
    others = [item._replace(context=list(some_pairs((3, 3), 77))) for item in items]
    for first, other in zip(score_items(model, items), score_items(model, others), strict=True):
        assert first != pytest.approx(other)

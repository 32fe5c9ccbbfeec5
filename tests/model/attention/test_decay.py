"""Context that counts less the further away it is."""

import dataclasses
import math

import pytest
import torch
from torch import Tensor

from model.attention.decay import FIRST_RATE, Decay
from model.config import CONTEXT_ATTENTIONS, ConfigError, ContextConfig
from model.data.batching import Pair, collate
from model.document import DocumentModel, Words, words_of
from model.masks import distance_before
from model.scoring import Item, score_in_context, score_items
from tests.documents import lively_document_model, some_pairs


def alike(model: DocumentModel, sentences: int) -> tuple[Tensor, Tensor, Words]:
    """A query, and sentences that are all the same: [1, 1, d] and the words of each."""
    width = model.base.config.d_model
    generator = torch.Generator().manual_seed(1)
    query, words = torch.randn(1, 1, width, generator=generator), torch.randn(1, 3, width, generator=generator)
    spread = words.expand(sentences, -1, -1)
    return query, query, Words(spread, spread, torch.ones(sentences, 3, dtype=torch.bool))


@pytest.mark.parametrize("attention", ["flat-sentence", "flat-word"])
@torch.no_grad()
def test_equal_sentences_decay_by_a_constant_factor(attention: str) -> None:
    model = lively_document_model(attention, decay=0.7)
    query, state, words = alike(model, 5)
    weights = model.attend(query, state, model.store(words), distance_before(5)[None]).sentence_weights[0, :, 0]
    torch.testing.assert_close(weights[:, 1:] / weights[:, :-1], torch.full((2, 4), math.exp(0.7)))


@pytest.mark.parametrize("attention", ["sparse-soft", "sparse-sparse"])
@torch.no_grad()
def test_sparsemax_gives_the_nearest_sentence_all_weight_at_rate_one(attention: str) -> None:
    model = lively_document_model(attention, decay=1.0)
    query, state, words = alike(model, 5)
    weights = model.attend(query, state, model.store(words), distance_before(5)[None]).sentence_weights[0, :, 0]
    assert torch.equal(weights, torch.tensor([[0.0, 0, 0, 0, 1]]).expand(2, -1))


@pytest.mark.parametrize("attention", CONTEXT_ATTENTIONS)
@torch.no_grad()
def test_a_rate_of_zero_changes_no_bit(attention: str) -> None:
    batch = collate(some_pairs((4, 7, 2, 5)))
    away = distance_before(4)[None].expand(4, -1)
    states = []
    for decay in (None, 0.0, 0.5):
        model = lively_document_model(attention, decay=decay)
        store = model.store(words_of(model.base, "encoder", batch))
        states.append(model.hidden(batch, store, away))
    assert torch.equal(states[0], states[1])
    assert not torch.allclose(states[0], states[2], atol=1e-3)


@torch.no_grad()
def test_every_head_has_its_learned_rate() -> None:
    decay = Decay(2, "learned")
    away = torch.tensor([[[0, 1, 2, 4]]])
    expected = torch.tensor([0.0, 0, -FIRST_RATE, -3 * FIRST_RATE]).expand(1, 2, 1, -1)
    torch.testing.assert_close(decay(away), expected)
    assert decay.raw_rates is not None
    decay.raw_rates[1] = 3
    torch.testing.assert_close(decay(away)[0, 1, 0, 2], -torch.nn.functional.softplus(torch.tensor(3.0)))
    assert Decay(2, None)(away) is None


def test_rates_are_learned() -> None:
    model = lively_document_model("flat-word", decay="learned")
    batch = collate(some_pairs((4, 7, 2, 5)))
    store = model.store(words_of(model.base, "encoder", batch))
    model.hidden(batch, store, distance_before(4)[None].expand(4, -1)).pow(2).sum().backward()  # type: ignore[no-untyped-call]
    rates = model.context.decay.raw_rates
    assert rates is not None
    assert rates.grad is not None
    assert (rates.grad != 0).all()


@pytest.mark.parametrize("attention", CONTEXT_ATTENTIONS)
def test_items_scored_together_are_scored_as_each_alone(attention: str) -> None:
    model = lively_document_model(attention, decay="learned")
    sentences = some_pairs((4, 7, 2, 5, 6, 3), seed=3)
    items = [
        Item(sentences[own].source, [sentences[own].target, sentences[own - 1].target], context)
        for own, context in ((5, sentences[:5]), (2, sentences[:2]), (1, sentences[:1]), (3, list[Pair]()))
    ]
    for item, scores in zip(items, score_items(model, items), strict=True):
        assert scores == pytest.approx(score_in_context(model, item.source, item.targets, item.context), abs=1e-4)
    near = score_in_context(model, items[0].source, items[0].targets, items[0].context[::-1])
    assert near != pytest.approx(score_items(model, items[:1])[0], abs=1e-4)  # the order counts


@pytest.mark.parametrize("decay", [-0.1, "yes", True, [1]])
def test_a_decay_is_a_rate(decay: object) -> None:
    with pytest.raises(ConfigError, match=r"context decay must be a number from 0 on, \"learned\", or null"):
        ContextConfig.from_dict({"decay": decay})
    assert dataclasses.replace(ContextConfig(), decay=0.3).to_dict()["decay"] == 0.3

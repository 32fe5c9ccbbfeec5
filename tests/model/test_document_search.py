"""Protocols of document translation, and batched greedy decoding."""

from typing import Any

import pytest
import torch

from model.config import BOS_ID, CONTEXT_ATTENTIONS, EOS_ID, PAD_ID, UNK_ID
from model.document_greedy import document_store, greedy_document
from model.document_search import document_distance, search_document, stack_store, store_sentence
from model.greedy import greedy
from model.reference_search import ReferenceHypothesis, reference_search
from tests.documents import lively_document_model, some_pairs
from tests.models import lively_model, tiny_config

SOURCES = [pair.source for pair in some_pairs((4, 7, 2), seed=5)]
SIDES = ("encoder", "decoder")

sides = pytest.mark.parametrize("side", SIDES)
OPTIONS: dict[str, Any] = {"beam_size": 2, "max_length": 8}


def ids(found: list[list[ReferenceHypothesis]]) -> list[tuple[int, ...]]:
    return [hypotheses[0].ids for hypotheses in found]


@sides
@pytest.mark.parametrize("online", [False, True])
def test_a_document_of_one_sentence_is_translated_by_the_sentence_model(side: str, online: bool) -> None:
    model = lively_document_model(side=side)
    for source in SOURCES:
        expected = reference_search(model.base, [*source, EOS_ID], **OPTIONS)
        assert search_document(model, [source], online, **OPTIONS) == [expected]


@pytest.mark.parametrize("attention", CONTEXT_ATTENTIONS)
@sides
def test_context_changes_translations(attention: str, side: str) -> None:
    model = lively_document_model(attention, side)
    alone = [reference_search(model.base, [*source, EOS_ID], **OPTIONS) for source in SOURCES]
    for online in (False, True):
        result = search_document(model, SOURCES, online, **OPTIONS)
        scores = [(first[0].score, other[0].score) for first, other in zip(result, alone, strict=True)]
        assert (scores[0][0] == pytest.approx(scores[0][1], abs=1e-4)) == online
        assert all(abs(first - other) > 1e-3 for first, other in scores[1:])


@sides
def test_the_order_in_which_sentences_are_translated_offline_does_not_matter(side: str) -> None:
    """Offline masks know no order, so shuffling the document shuffles its translations."""
    model = lively_document_model(side=side)
    results, turned = (search_document(model, sources, **OPTIONS) for sources in (SOURCES, SOURCES[::-1]))
    assert ids(results) == ids(turned)[::-1]


@sides
def test_online_translations_do_not_wait_for_later_sentences(side: str) -> None:
    model = lively_document_model(side=side)
    whole, begun = (search_document(model, sources, online=True, **OPTIONS) for sources in (SOURCES, SOURCES[:2]))
    assert ids(whole)[:2] == ids(begun)


@sides
def test_an_empty_translation_is_no_context(side: str) -> None:
    model = lively_document_model(side=side)
    store = stack_store([store_sentence(model, SOURCES[0], [7, 8]), store_sentence(model, [], [])])
    assert store.word_keep.any(dim=-1).tolist() == [[True, False]]
    with torch.no_grad():
        query = torch.randn(1, 3, 32)
        unseen = model.attend(query, query, store, torch.tensor([[False, True]]))
    assert torch.equal(unseen.state, query)


def test_a_document_of_three() -> None:
    assert document_distance(3, online=False).tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    assert document_distance(3, online=True).tolist() == [[0, 0, 0], [1, 0, 0], [2, 1, 0]]


@pytest.mark.parametrize("order", [2, 4, None])
def test_batched_greedy_decoding_is_the_reference_with_a_beam_of_one(order: int | None) -> None:
    model = lively_model(tiny_config(ngram=order), seed=4)
    sources = [pair.source for pair in some_pairs((3, 11, 1, 6, 8, 2, 5), seed=3)]
    expected = [list(reference_search(model, [*s, EOS_ID], beam_size=1, max_length=12)[0].ids) for s in sources]
    for batch_rows in (3, 7):
        assert greedy(model, sources, max_length=12, batch_rows=batch_rows) == expected
    assert len({len(ids) for ids in expected}) > 2


def test_special_tokens_are_never_chosen() -> None:
    """Not even UNK where it is the most probable: a draft with a hole in it would become context."""
    model = lively_model(tiny_config(output_bias=True), seed=4)
    sources = [pair.source for pair in some_pairs((3, 6), seed=3)]
    expected = greedy(model, sources, max_length=12)
    bias = model.embedding.output_bias
    assert bias is not None
    with torch.no_grad():
        bias[[PAD_ID, UNK_ID, BOS_ID]] += 100
    assert greedy(model, sources, max_length=12) == expected
    for source, item in zip(sources, expected, strict=True):
        assert list(reference_search(model, [*source, EOS_ID], beam_size=1, max_length=12)[0].ids) == item
        assert item


@pytest.mark.parametrize("attention", CONTEXT_ATTENTIONS)
@sides
def test_batched_greedy_documents_are_the_reference_with_a_beam_of_one(attention: str, side: str) -> None:
    model = lively_document_model(attention, side)
    sources = [pair.source for pair in some_pairs((3, 9, 1, 6), seed=3)]
    for online in (False, True):
        expected = [list(id_) for id_ in ids(search_document(model, sources, online, beam_size=1, max_length=10))]
        store, keep = document_store(model, sources, max_length=10), document_distance(len(sources), online)
        for batch_rows in (3, 32):
            assert greedy_document(model, sources, store, keep, 10, batch_rows) == expected
        assert expected != greedy(model.base, sources, 10)

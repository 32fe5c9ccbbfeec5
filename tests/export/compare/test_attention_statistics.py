"""Costs in context and where layers look, against one sentence at a time."""

import pytest
import torch

from export.compare.attention_statistics import AttentionCounts, costs_in_context
from export.compare.likelihood import sentence_nll
from model.config import CONTEXT_ATTENTIONS
from model.data.batching import Pair, collate
from model.document import DocumentModel, words_of
from model.document_greedy import document_store
from model.document_search import document_distance
from model.greedy import greedy
from model.scoring import score_alone, score_in_context
from tests.documents import lively_document_model, some_pairs

DOCUMENT = some_pairs((3, 9, 1, 6, 5), seed=2)
LIMIT = 20
SIDES = ("encoder", "decoder")


def contexts(model: DocumentModel) -> list[Pair]:
    """What is stored of every sentence: on the decoder's side the sentence model's translation."""
    sources = [pair.source for pair in DOCUMENT]
    targets = [[] for _ in sources] if model.on_encoder else greedy(model.base, sources, LIMIT)
    return [Pair(*both) for both in zip(sources, targets, strict=True)]


@pytest.mark.parametrize("online", [False, True])
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("attention", CONTEXT_ATTENTIONS)
def test_a_documents_costs_are_those_of_its_sentences(attention: str, side: str, online: bool) -> None:
    model = lively_document_model(attention, side)
    stored, keep = contexts(model), document_distance(len(DOCUMENT), online) > 0
    store = document_store(model, [pair.source for pair in DOCUMENT], LIMIT)
    result, _ = costs_in_context(model, DOCUMENT, store, keep)
    for index, pair in enumerate(DOCUMENT):
        seen = [stored[place] for place in range(len(DOCUMENT)) if keep[index, place]]
        (score,) = score_in_context(model, pair.source, [pair.target], seen)
        assert result[index] == pytest.approx(-score, rel=1e-4)
    alone = [-score_alone(model.base, pair.source, [pair.target])[0] for pair in DOCUMENT]
    assert sentence_nll(model.base, DOCUMENT) == pytest.approx(alone, rel=1e-4)
    assert result[1:] != pytest.approx(alone[1:], rel=1e-3)


def counted(model: DocumentModel, online: bool) -> AttentionCounts:
    """One sentence, head and word at a time."""
    counts, keep = AttentionCounts(), document_distance(len(DOCUMENT), online) > 0
    stored = collate(contexts(model))
    store = model.store(words_of(model.base, model.config.side, stored))
    for index, pair in enumerate(DOCUMENT):
        with torch.no_grad():
            _, result = model.hidden_and_context(collate([pair]), store, keep[index : index + 1])
        used = set()
        for head in result.sentence_weights[0]:
            for query in head:
                for place in range(len(DOCUMENT)):
                    if keep[index, place] and store.word_keep[0, place].any():
                        counts.sentences += 1
                        counts.zero_sentences += float(query[place] == 0)
                        used |= {place} if query[place] > 0 else set()
        if result.word_weights is not None:
            real = keep[index][:, None] & store.word_keep[0]
            weights = result.word_weights[0][..., real]
            counts.words += weights.numel()
            counts.zero_words += float((weights == 0).sum())
        counts.used += len(used)
        counts.visible += float((keep[index] & store.word_keep[0].any(dim=-1)).sum())
        if keep[index].any():
            counts.gates += result.gate.numel()
            counts.context_share += float((1 - result.gate).sum())
    return counts


@pytest.mark.parametrize("online", [False, True])
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("attention", ["flat-sentence", "sparse-soft", "sparse-sparse"])
def test_zeros_are_counted_over_visible_sentences(attention: str, side: str, online: bool) -> None:
    model = lively_document_model(attention, side)
    store = document_store(model, [pair.source for pair in DOCUMENT], LIMIT)
    _, actual = costs_in_context(model, DOCUMENT, store, document_distance(len(DOCUMENT), online))
    expected = counted(model, online)
    assert vars(actual) == pytest.approx(vars(expected), rel=1e-3)
    assert (actual.zero_sentences > 0) == (attention != "flat-sentence")
    shares = actual.shares()
    assert 0 < shares["used"] <= 1
    assert 0 < shares["context"] < 1


def test_nothing_seen_has_no_shares() -> None:
    assert set(AttentionCounts().shares().values()) == {0.0}

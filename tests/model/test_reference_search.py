"""The reference searches compute the hypotheses of a step side by side; here one by one."""

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from model.config import CONTEXT_ATTENTIONS, EOS_ID, SPECIAL_IDS
from model.document_search import contextual_search, document_distance, stack_store, store_sentence
from model.reference_search import (
    LiveBeam,
    ReferenceHypothesis,
    beam_search,
    best_continuations,
    log_probabilities,
    reference_search,
)
from tests.documents import lively_document_model
from tests.models import lively_model, tiny_config
from tests.variants import RECURRENT, VARIANTS, few_layers, lively_variant

SOURCE = [*range(30, 43), EOS_ID]
OPTIONS: dict[str, Any] = {"beam_size": 3, "num_hypotheses": 3, "max_length": 12}


def assert_same(actual: list[ReferenceHypothesis], expected: list[ReferenceHypothesis]) -> None:
    assert [each.ids for each in actual] == [each.ids for each in expected]
    assert [each.score for each in actual] == pytest.approx([each.score for each in expected], abs=1e-4)


@pytest.mark.parametrize("name", ["plain", *VARIANTS, *RECURRENT])
def test_of_a_sentence(name: str) -> None:
    model = lively_model(tiny_config()) if name == "plain" else lively_variant(name, **few_layers(name))
    keep = torch.ones(1, len(SOURCE), dtype=torch.bool)
    with torch.no_grad():
        encoder_output = model.encode(torch.tensor([SOURCE]), keep)

    def one_by_one(target: Tensor) -> Tensor:
        hidden = [model.decode(row[None], encoder_output, keep)[:, -1] for row in target]
        return torch.cat([model.embedding.logits(each) for each in hidden])

    assert_same(reference_search(model, SOURCE, **OPTIONS), beam_search(one_by_one, **OPTIONS))


@pytest.mark.parametrize("side", ["encoder", "decoder"])
@pytest.mark.parametrize("attention", CONTEXT_ATTENTIONS)
def test_of_a_sentence_in_a_document(attention: str, side: str) -> None:
    model = lively_document_model(attention, side)
    others = [(SOURCE[:-1], [50, 51]), ([7, 8, 9], [60, 61, 62, 63]), ([10], [70])]
    store, distance = stack_store([store_sentence(model, *pair) for pair in others]), document_distance(3, False)[[0]]
    keep = torch.ones(1, len(SOURCE), dtype=torch.bool)
    with torch.no_grad():
        encoder_output = model.encode(torch.tensor([SOURCE]), keep, store, distance)

    def one_by_one(target: Tensor) -> Tensor:
        hidden = [model.decode(row[None], encoder_output, keep, store, distance)[:, -1] for row in target]
        return torch.cat([model.base.embedding.logits(each) for each in hidden])

    expected = beam_search(one_by_one, **OPTIONS)
    assert_same(contextual_search(model, SOURCE[:-1], store, distance, **OPTIONS), expected)


def test_the_best_continuations_are_the_first_of_all_sorted() -> None:
    """Of few different scores, so that many are equal: the lower beam comes first, then the lower token."""
    for seed in range(20):
        logits = torch.randint(0, 3, (3, 12), generator=torch.Generator().manual_seed(seed)).float()
        live = [LiveBeam((7,), -1.0), LiveBeam((8,), -1.0), LiveBeam((9,), -2.0)]
        scores = log_probabilities(logits, None, SPECIAL_IDS) + torch.tensor(
            [[hypothesis.score] for hypothesis in live]
        )
        every = [(-score, beam, token) for beam, row in enumerate(scores.tolist()) for token, score in enumerate(row)]
        expected = [(-score, beam, token) for score, beam, token in sorted(every)[:6]]
        assert best_continuations(partial(lambda given, _: given, logits), live, None, 6) == expected

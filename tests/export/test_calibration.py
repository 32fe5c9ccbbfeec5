"""Activation ranges: those of a sentence that is translated alone, step by step."""

import pytest
import torch

from export.calibration import HEADROOM, Ranges, context_ranges, input_ranges, recorded_ranges
from export.parity import sample_sources
from model.data.batching import Pair, collate
from model.document_search import stack_store, store_sentence
from model.greedy import greedy
from model.translation_model import TranslationModel
from tests.documents import lively_document_model
from tests.model.attention.test_conventions import CONVENTIONS, model_of
from tests.variants import lively_variant

MOST = 20


def ranges_step_by_step(model: TranslationModel, sources: list[list[int]]) -> Ranges:
    """The slow reference: nothing is padded and nothing teacher-forced."""
    with recorded_ranges(model) as ranges:
        greedy(model, [ids[:-1] for ids in sources], min(MOST, model.config.max_length), batch_rows=1)
    return ranges


def sources_for(model: TranslationModel) -> list[list[int]]:
    return sample_sources(300, 40, eos_id=model.config.ids.eos)


def expected_ranges(model: TranslationModel) -> Ranges:
    """Those of `sources_for`, and where attention is not plain also of the sentence that has nothing but its end."""
    alone = [] if model.config.is_plain else [[model.config.ids.eos]]
    return ranges_step_by_step(model, [*sources_for(model), *alone])


def variant(name: str, ngram: int | None) -> TranslationModel:
    model = lively_variant(name, ngram=ngram)
    with torch.no_grad():
        model.embedding.weight[model.config.ids.eos] *= 0.8  # else all translations end at once
    return model


@pytest.mark.parametrize("name", ["relative", "gauss-query-relative", "mw", "aw", "segments"])
@pytest.mark.parametrize("ngram", [4, None])
def test_a_pass_over_the_translation_sees_what_its_steps_see(name: str, ngram: int | None) -> None:
    model = variant(name, ngram)
    actual, expected = input_ranges(model, sources_for(model), MOST), expected_ranges(model)
    assert actual == pytest.approx(expected, rel=1e-4)
    assert len({round(value, 4) for value in actual.values()}) > len(actual) / 3


@pytest.mark.parametrize("name", CONVENTIONS)
def test_by_the_conventions_of_others_too(name: str) -> None:
    model = model_of(CONVENTIONS[name])
    actual, expected = input_ranges(model, sources_for(model), MOST), expected_ranges(model)
    assert actual == pytest.approx(expected, rel=1e-4)
    assert len({round(value, 4) for value in actual.values()}) > len(actual) / 3


def test_some_of_these_translations_end_and_some_are_cut() -> None:
    models = [variant(name, 4) for name in ("gauss-query-relative", "mw", "segments")]
    lengths = {len(ids) for model in models for ids in greedy(model, [ids[:-1] for ids in sources_for(model)], MOST)}
    assert MOST in lengths
    assert len(lengths) > 3


def test_a_sentence_without_words_widens_ranges_where_attention_is_not_plain() -> None:
    """Weights that do not sum to one are largest where there is least to see. The sources hold no such sentence."""
    model = variant("mw", 4)
    sources = [ids for ids in sources_for(model) if len(ids) > 1]
    empty = [[model.config.ids.eos]]
    result, without, alone = (
        input_ranges(model, sources, MOST), ranges_step_by_step(model, sources), ranges_step_by_step(model, empty)
    )  # fmt: skip
    assert result == pytest.approx({site: max(without[site], alone[site]) for site in without}, rel=1e-4)
    assert any(alone[site] > 1.01 * without[site] for site in without), "nothing would show that it was left out"


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_ranges_of_a_context_layer_have_headroom_and_no_range_is_below_that_of_sentences_alone(side: str) -> None:
    document = lively_document_model(side=side)
    sources = sample_sources(300, 40)
    alone = input_ranges(document.base, sources, MOST)
    result = context_ranges(document, sources, alone, MOST)
    twice = context_ranges(document, sources, dict.fromkeys(alone, 1e6), MOST)
    assert all(result[site] >= alone[site] for site in alone)
    assert all(twice[site] == 1e6 for site in alone)
    with recorded_ranges(document) as seen, torch.no_grad():  # the slow reference: one sentence that sees all others
        words = [ids[:-1] for ids in sources]
        targets = greedy(document.base, words, min(MOST, document.base.config.max_length - 1))
        pairs = list(zip(words, targets, strict=True))
        store = stack_store([store_sentence(document, *pair) for pair in pairs])
        for index, pair in enumerate(pairs):
            visible = torch.tensor([[other != index for other in range(len(pairs))]])
            document.hidden(collate([Pair(*pair)]), store, visible)
    layer = [site for site in seen if site.startswith("context.")]
    assert len(layer) > 3
    assert all(result[site] >= 1.25 * seen[site] * (1 - 1e-5) for site in layer)
    last = float(store.tensors[-1].abs().max())
    assert result["context.attention.output"] == pytest.approx(HEADROOM * last, rel=1e-5)
    assert HEADROOM == 1.25


def test_the_largest_value_counts_whatever_its_sign() -> None:
    document = lively_document_model()
    sources = sample_sources(300, 40)
    results = []
    for sign in (1.0, -1.0):  # values, and what is made of them, with the other sign
        with torch.no_grad():
            for name, parameter in document.context.attention.named_parameters():
                if "value" in name:
                    parameter.mul_(sign)
        results.append(context_ranges(document, sources, {}, MOST)["context.attention.output"])
    assert results[0] == pytest.approx(results[1], rel=1e-5)

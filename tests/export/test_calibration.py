"""Activation ranges: those of a sentence that is translated alone, step by step."""

import pytest
import torch

from export.calibration import Ranges, input_ranges, recorded_ranges
from export.parity import sample_sources
from model.greedy import greedy
from model.translation_model import TranslationModel
from tests.model.attention.test_conventions import CONVENTIONS, model_of
from tests.variants import lively_variant

MOST = 20


def ranges_step_by_step(model: TranslationModel, sources: list[list[int]]) -> Ranges:
    """The slow twin: nothing is padded and nothing teacher-forced."""
    with recorded_ranges(model) as ranges:
        greedy(model, [ids[:-1] for ids in sources], min(MOST, model.config.max_length), batch_rows=1)
    return ranges


def sources_for(model: TranslationModel) -> list[list[int]]:
    ids = model.config.ids
    sources = sample_sources(300, 40, eos_id=ids.eos)
    return sources if model.config.is_plain else [*sources, [ids.eos]]  # as input_ranges does


def variant(name: str, ngram: int | None) -> TranslationModel:
    model = lively_variant(name, ngram=ngram)
    with torch.no_grad():
        model.embedding.weight[model.config.ids.eos] *= 0.8  # else all translations end at once
    return model


@pytest.mark.parametrize("name", ["relative", "gauss-query-relative", "mw", "aw", "segments"])
@pytest.mark.parametrize("ngram", [4, None])
def test_a_pass_over_the_translation_sees_what_its_steps_see(name: str, ngram: int | None) -> None:
    model = variant(name, ngram)
    found, expected = input_ranges(model, sources_for(model), MOST), ranges_step_by_step(model, sources_for(model))
    assert found == pytest.approx(expected, rel=1e-4)
    assert len({round(value, 4) for value in found.values()}) > len(found) / 3


@pytest.mark.parametrize("name", CONVENTIONS)
def test_by_the_conventions_of_others_too(name: str) -> None:
    model = model_of(CONVENTIONS[name])
    found, expected = input_ranges(model, sources_for(model), MOST), ranges_step_by_step(model, sources_for(model))
    assert found == pytest.approx(expected, rel=1e-4)
    assert len({round(value, 4) for value in found.values()}) > len(found) / 3


def test_some_of_these_translations_end_and_some_are_cut() -> None:
    models = [variant(name, 4) for name in ("gauss-query-relative", "mw", "segments")]
    lengths = {len(ids) for model in models for ids in greedy(model, [ids[:-1] for ids in sources_for(model)], MOST)}
    assert MOST in lengths
    assert len(lengths) > 3

"""The SSRU against its formula in loops; whole targets, steps and rows whose parents change are the same."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from model.attention.kinds.ssru import SSRU
from model.config import ConfigError, ModelConfig
from model.language_model import LanguageModel
from model.translation_model import TranslationModel
from tests.decoding import some_source, some_target, stepwise
from tests.models import tiny_config
from tests.reference.ssru import ssru
from tests.variants import RECURRENT, D, lively_variant, shake, variant_config, weights_of


def model_of(name: str, order: int | None = None) -> TranslationModel:
    return lively_variant(name, ngram=order).double()


def random_cell(seed: int) -> SSRU:
    torch.manual_seed(seed)
    module = SSRU(D, 64).double()
    shake(module)
    return module


@settings(deadline=None, max_examples=20)
@given(length=st.integers(1, 40), seed=st.integers(0, 9))
def test_a_whole_target_is_the_formula(length: int, seed: int) -> None:
    module = random_cell(seed)
    x = torch.randn(2, length, D, dtype=torch.float64)
    ours = module(x, module.scan(module.project_memory(x))).detach().numpy()
    for row, inputs in zip(ours, x.numpy(), strict=True):
        np.testing.assert_allclose(row, ssru(weights_of(module), list(inputs)), atol=1e-12)


@pytest.mark.parametrize(("name", "order"), [("ssru", None), ("ssru-below", 4), ("ssru-below", None)])
def test_steps_at_different_positions_equal_teacher_forcing(name: str, order: int | None) -> None:
    model, (source, keep), target = model_of(name, order), some_source(3), some_target(3)
    together = stepwise(model, source, keep, target, start=[0, 5, 2])
    torch.testing.assert_close(together, model(source, keep, target), atol=1e-5, rtol=0)  # softmax is at fp32


def test_what_a_slot_held_before_has_no_effect() -> None:
    """Not even numbers that are none."""
    model, (source, keep), target = model_of("ssru"), some_source(), some_target()
    cross = model.decoder.project_source(model.encode(source, keep))
    rings = [tuple(torch.full_like(tensor, torch.nan) for tensor in layer) for layer in model.empty_rings(1)]
    for step in range(3):
        logits, rings = model.step(target[:, step], torch.tensor([step]), rings, cross, keep)
    torch.testing.assert_close(logits, model(source, keep, target)[:, 2], atol=1e-9, rtol=0)


def test_every_token_before_matters_however_far() -> None:
    model, (source, keep), target = model_of("ssru"), some_source(), some_target(1, 9)
    base = model(source, keep, target)
    for changed in range(9):
        other = target.clone()
        other[0, changed] = 7 if target[0, changed] != 7 else 8
        difference = (model(source, keep, other) - base).abs().amax(dim=-1)[0]
        assert bool((difference[changed:] > 1e-12).all())
        assert not difference[:changed].any()


def test_configurations_name_it_and_survive_json() -> None:
    assert variant_config("ssru").variant == "Dec(ssru,full)"
    assert variant_config("ssru-below").variant == "Dec(ssru,L1) N=4"
    for name in RECURRENT:
        assert ModelConfig.from_dict(variant_config(name).to_dict()) == variant_config(name)
    whole, below = variant_config("ssru"), variant_config("ssru-below")
    assert (whole.has_ring, whole.ring_capacity) == (False, 1)
    assert (below.has_ring, below.ring_capacity) == (True, 3)
    assert [len(layer) for layer in TranslationModel(below).empty_rings(1)] == [1, 2]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"decoder_attention": {"kind": "ssru", "layers": "full"}}, "ngram 4 has no meaning.*set it to null"),
        ({"encoder_attention": {"kind": "ssru"}}, "encoder_attention: kind 'ssru' is possible in the decoder only"),
        ({"cross_attention": {"kind": "ssru"}}, "cross_attention: kind 'ssru' is possible in the decoder only"),
        ({"decoder_attention": {"kind": "ssru", "relative": True}}, "has no relative positions"),
        ({"encoder_layers": 0, "decoder_attention": {"kind": "ssru"}}, "is for translation"),
    ],
)
def test_where_it_is_impossible_it_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        tiny_config(**changes)


def test_a_language_model_is_as_before() -> None:
    assert LanguageModel(tiny_config(encoder_layers=0)).layers

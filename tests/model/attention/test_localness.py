"""What must hold for any G of Gaussian localness; test_formulas.py has the formula."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from model.attention.kinds.localness import GaussianLocalness, gaussian
from model.attention.multi_head import MultiHeadAttention
from model.attention.scaled_dot_product import masked_softmax
from model.attention.visible_keys import VisibleKeys
from model.translation_model import TranslationModel
from tests.models import tiny_config
from tests.variants import HEADS, attention_of, padded_keep, shake, some_inputs

KINDS = ["gauss-fixed", "gauss-layer", "gauss-query", "gauss-head", "gauss-thumt"]


def term_of(module: MultiHeadAttention) -> GaussianLocalness:
    term = module.get_submodule("terms.localness")
    assert isinstance(term, GaussianLocalness)
    return term


def energy_of(term: GaussianLocalness, keep: Tensor, seed: int = 0) -> Tensor:
    """G for random queries and keys, [batch, heads, query, key]."""
    generator = torch.Generator().manual_seed(seed)
    batch, _, _, keys = keep.shape
    query, key = (torch.randn(batch, HEADS, size, 16, generator=generator) for size in (4, keys))
    return term.energy(query, key, VisibleKeys(keep, torch.arange(4)[None], torch.arange(keys)[None]))


@settings(deadline=None, max_examples=20)
@given(name=st.sampled_from(KINDS), seed=st.integers(0, 99), lengths=st.lists(st.integers(0, 8), min_size=1))
def test_no_energy_is_above_zero_and_all_are_finite(name: str, seed: int, lengths: list[int]) -> None:
    module = attention_of(name, seed=seed).float()
    energy = energy_of(term_of(module), padded_keep(lengths, 8), seed)
    assert torch.isfinite(energy).all()
    assert (energy <= 0).all()


def test_a_very_wide_window_is_plain_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("model.attention.kinds.localness.FIXED_WINDOW", 1e6)
    module, plain = attention_of("gauss-fixed"), MultiHeadAttention(32, HEADS).double()
    plain.load_state_dict({key: tensor for key, tensor in module.state_dict().items() if key in plain.state_dict()})
    inputs = some_inputs(padded_keep([6, 2], 6))
    torch.testing.assert_close(inputs.run(module, True), inputs.run(plain, True), atol=1e-6, rtol=0)


def test_the_narrowest_window_is_finite_and_the_nearest_key_wins() -> None:
    """The map to the window's width pushed to minus infinity: only the 0.1 that is added is left."""
    module = attention_of("gauss-query").float()
    term = term_of(module)
    with torch.no_grad():
        term.spread.weight.zero_()
        term.spread.bias.fill_(-1e4)
    keep = padded_keep([50], 50)
    energy = energy_of(term, keep)
    assert torch.isfinite(energy).all()
    weights = masked_softmax(energy, keep)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(1, HEADS, 4))
    assert torch.equal(weights.argmax(dim=-1), energy.argmax(dim=-1))
    assert (energy.max(dim=-1).values >= -200.001).all()


@settings(deadline=None, max_examples=15)
@given(name=st.sampled_from([*KINDS, "gauss-query-relative"]), length=st.integers(1, 6), pad=st.integers(1, 4))
def test_padding_on_either_side_changes_nothing(name: str, length: int, pad: int) -> None:
    module = attention_of(name)
    alone = some_inputs(padded_keep([length], length))
    for side in ("left", "right"):
        padded = some_inputs(padded_keep([length], length + pad, side))
        start = pad if side == "left" else 0
        padded.x_query.copy_(alone.x_query)
        padded.x_key[:, start : start + length] = alone.x_key
        padded.query_position.add_(start)
        torch.testing.assert_close(padded.run(module, True), alone.run(module, True), atol=1e-6, rtol=0)


def test_a_value_by_hand() -> None:
    """Five keys, centre and window both in the middle of their ranges: P = D = 2.5, so G_1 = -2 (1.5/2.5)^2."""
    energy = gaussian(torch.arange(1.0, 6.0), torch.tensor(2.5), torch.tensor(2.5))
    torch.testing.assert_close(energy[0], torch.tensor(-0.72))


def test_the_authors_coordinates_are_another_function() -> None:
    """With everything at its middle: P = 2.5 among 1..5 against P = 2 among 0..4."""
    keep = padded_keep([5], 5)
    energies = {}
    for name in ("gauss-query", "gauss-thumt"):
        term = term_of(attention_of(name)).float()
        for parameter in term.parameters():
            torch.nn.init.zeros_(parameter)
        energies[name] = energy_of(term, keep)[0, 0, 0]
    width = 2.5 + 0.1
    torch.testing.assert_close(energies["gauss-query"], -2 * ((torch.arange(1.0, 6.0) - 2.5) / width) ** 2)
    torch.testing.assert_close(energies["gauss-thumt"], -2 * ((torch.arange(5.0) - 2) / width) ** 2)


@pytest.mark.parametrize(
    ("window", "extra"), [("query", 812_592), ("fixed", 3 * (512**2 + 512 + 512 * 8 + 8)), ("head", 800_304)]
)
def test_it_has_the_papers_number_of_parameters(window: str, extra: int) -> None:
    shape = {"d_model": 512, "num_heads": 8, "ffn_dim": 8, "encoder_layers": 6, "decoder_layers": 1, "vocab_size": 8}

    def size(**changes: object) -> int:
        model = TranslationModel(tiny_config(**shape, **changes))
        return sum(parameter.numel() for parameter in model.parameters())

    assert size(encoder_attention={"kind": "localness", "gauss_window": window}) - size() == extra


def test_the_mean_of_visible_keys_leaves_hidden_ones_out() -> None:
    module = attention_of("gauss-layer")
    shake(module)
    inputs = some_inputs(padded_keep([3], 6))
    before = inputs.run(module, True)
    inputs.x_key[:, 3:] = 1e6
    torch.testing.assert_close(inputs.run(module, True), before, atol=1e-6, rtol=0)

"""Sparsemax: the projection onto the simplex, its zeros, its masks and its gradient."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from model.attention.sparsemax import sparsemax
from tests.reference.sparsemax import sparsemax as sparsemax_by_filling
from tests.reference.sparsemax import sparsemax_by_search

seeds = st.integers(0, 10_000)


def some_energy(seed: int, keys: int, scale: float = 1.5) -> Tensor:
    return torch.randn(keys, generator=torch.Generator().manual_seed(seed)) * scale


def everything(energy: Tensor) -> Tensor:
    return torch.ones_like(energy, dtype=torch.bool)


@settings(deadline=None, max_examples=40)
@given(seed=seeds, keys=st.integers(1, 7), scale=st.sampled_from([0.1, 1.0, 5.0]))
def test_it_is_the_nearest_point_of_the_simplex(seed: int, keys: int, scale: float) -> None:
    energy = some_energy(seed, keys, scale)
    ours = sparsemax(energy, everything(energy)).numpy()
    np.testing.assert_allclose(ours, sparsemax_by_search(energy.double().numpy()), atol=1e-5)
    np.testing.assert_allclose(ours, sparsemax_by_filling(energy.double().numpy()), atol=1e-5)
    np.testing.assert_allclose(ours.sum(), 1, atol=1e-5)


@settings(deadline=None)
@given(seed=seeds, keys=st.integers(2, 40), gap=st.floats(1.0, 50.0))
def test_a_margin_of_one_gives_all_weight(seed: int, keys: int, gap: float) -> None:
    energy = some_energy(seed, keys)
    winner = seed % keys
    energy[winner] = energy.max() + gap + 1e-4
    expected = torch.zeros(keys)
    expected[winner] = 1
    torch.testing.assert_close(sparsemax(energy, everything(energy)), expected, atol=1e-5, rtol=0)


@settings(deadline=None)
@given(seed=seeds, keys=st.integers(2, 30))
def test_masked_keys_are_as_good_as_absent(seed: int, keys: int) -> None:
    energy = some_energy(seed, keys)
    keep = torch.rand(keys, generator=torch.Generator().manual_seed(seed + 1)) < 0.6
    keep[seed % keys] = True
    energy[~keep] += 100  # what is masked may be anything
    weights = sparsemax(energy, keep)
    assert torch.equal(weights[~keep], torch.zeros(int((~keep).sum())))
    torch.testing.assert_close(weights[keep], sparsemax(energy[keep], keep[keep]), atol=1e-6, rtol=0)


@settings(deadline=None)
@given(seed=seeds, shift=st.integers(-4000, 4000).map(lambda quarters: quarters / 4))
def test_adding_a_constant_changes_nothing(seed: int, shift: float) -> None:
    energy = some_energy(seed, 9)
    keep = everything(energy)
    torch.testing.assert_close(sparsemax(energy + shift, keep), sparsemax(energy, keep), atol=2e-4, rtol=0)


@settings(deadline=None)
@given(keys=st.integers(1, 30), lower=st.integers(0, 5))
def test_equal_energies_get_equal_weights(keys: int, lower: int) -> None:
    energy = torch.cat([torch.full((keys,), 0.7), torch.full((lower,), -3.0)])
    expected = torch.cat([torch.full((keys,), 1 / keys), torch.zeros(lower)])
    torch.testing.assert_close(sparsemax(energy, everything(energy)), expected, atol=1e-6, rtol=0)


@settings(deadline=None, max_examples=30)
@given(seed=seeds, keys=st.integers(2, 12))
def test_autograd_is_the_closed_form_and_the_difference_quotient(seed: int, keys: int) -> None:
    energy = some_energy(seed, keys).requires_grad_()
    keep = everything(energy)
    upstream = some_energy(seed + 1, keys)
    weights = sparsemax(energy, keep)
    (ours,) = torch.autograd.grad(weights @ upstream, energy)
    support = weights.detach() > 0
    closed_form = torch.where(support, upstream - upstream[support].mean(), torch.zeros(keys))
    torch.testing.assert_close(ours, closed_form, atol=1e-5, rtol=0)
    exact = energy.detach().double().numpy()
    margin = np.abs(exact - (exact[support.numpy()].sum() - 1) / support.sum().item()).min()
    if margin < 1e-4:
        return  # the support itself changes within the step, so there is no derivative to compare with
    for key in range(keys):
        step = np.zeros(keys)
        step[key] = 1e-5
        change = sparsemax_by_filling(exact + step) - sparsemax_by_filling(exact - step)
        assert abs(change @ upstream.double().numpy() / 2e-5 - float(ours[key])) < 1e-3


def test_a_row_without_keys_is_zero_with_zero_gradient() -> None:
    energy = torch.randn(2, 5, requires_grad=True)
    keep = torch.tensor([[False] * 5, [True, False, True, True, False]])
    weights = sparsemax(energy, keep)
    assert torch.equal(weights[0], torch.zeros(5))
    (weights * torch.randn(2, 5)).sum().backward()  # type: ignore[no-untyped-call]
    assert energy.grad is not None
    assert torch.isfinite(energy.grad).all()
    assert torch.equal(energy.grad[0], torch.zeros(5))
    assert torch.equal(energy.grad[~keep], torch.zeros(7))


def test_half_precision_and_huge_energies_stay_finite() -> None:
    for dtype in (torch.float16, torch.bfloat16):
        energy = torch.randn(500).to(dtype) * 1e4
        weights = sparsemax(energy, everything(energy))
        assert weights.dtype == torch.float32
        torch.testing.assert_close(weights.sum(), torch.tensor(1.0))

"""Dropout: what is dropped, what is kept and how it is scaled."""

import pytest
import torch

from model.layers import Dropout


def dropped(probability: float) -> float:
    """The share that is dropped: the probability in 256ths."""
    return round(probability * 256) / 256


@pytest.mark.parametrize("probability", [0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("shape", [(40_001,), (13, 7, 443)])
def test_a_value_is_zero_or_scaled_so_that_its_mean_stays(probability: float, shape: tuple[int, ...]) -> None:
    torch.manual_seed(1)
    x = torch.rand(shape) + 0.5
    y = Dropout(probability).train()(x)
    share = dropped(probability)
    kept = y != 0
    torch.testing.assert_close(y[kept], x[kept] / (1 - share))
    count = x.numel()
    assert float(kept.sum()) / count == pytest.approx(1 - share, abs=5 * (share * (1 - share) / count) ** 0.5)


def test_neighbours_are_dropped_independently_of_each_other() -> None:
    """Eight decisions come of one random number: none may tell another."""
    torch.manual_seed(2)
    kept = (Dropout(0.5).train()(torch.ones(8 * 20_000)) != 0).view(-1, 8).double()
    deviation = 5 / 20_000**0.5
    correlation = torch.corrcoef(kept.T) - torch.eye(8)
    assert float(correlation.abs().max()) < deviation
    assert float((kept.mean(dim=0) - 0.5).abs().max()) < deviation


def test_gradients_pass_where_values_do_with_the_same_scale() -> None:
    torch.manual_seed(3)
    x = torch.rand(1_000, requires_grad=True)
    y = Dropout(0.25).train()(x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(gradient, (y != 0).float() / 0.75)


def test_every_call_drops_others_and_a_seed_drops_the_same() -> None:
    layer, x = Dropout(0.5).train(), torch.ones(1_000)
    torch.manual_seed(4)
    first, second = layer(x), layer(x)
    assert not torch.equal(first, second)
    torch.manual_seed(4)
    assert torch.equal(layer(x), first)


@pytest.mark.parametrize(("probability", "training"), [(0.5, False), (0.0, True)])
def test_nothing_is_dropped_in_use_or_at_a_probability_of_zero(probability: float, training: bool) -> None:
    x = torch.randn(100)
    assert torch.equal(Dropout(probability).train(training)(x), x)

"""What an update is made of: the loss, the rate, the optimizer."""

import itertools

import pytest
import torch

from model.training.loss import projected_cross_entropy
from model.training.optimizer import MasterOptimizer
from model.training.schedule import learning_rate
from model.translation_model import TranslationModel
from tests.models import tiny_config


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_fused_loss_is_cross_entropy_with_its_gradients(smoothing: float) -> None:
    torch.manual_seed(0)
    hidden, weight = torch.randn(600, 16, requires_grad=True), torch.randn(40, 16, requires_grad=True)
    target = torch.randint(0, 40, (600,))
    loss, nll = projected_cross_entropy(hidden, weight, target, smoothing)
    ours = torch.autograd.grad(loss, (hidden, weight))
    logits = hidden @ weight.T
    plain = torch.nn.functional.cross_entropy(logits, target, label_smoothing=smoothing, reduction="sum")
    theirs = torch.autograd.grad(plain, (hidden, weight))
    torch.testing.assert_close(loss, plain, rtol=1e-5, atol=1e-3)
    torch.testing.assert_close(
        nll, torch.nn.functional.cross_entropy(logits, target, reduction="sum"), rtol=1e-5, atol=1e-3
    )
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_the_rate_warms_up_falls_and_ends_at_zero() -> None:
    rates = [learning_rate(step, 1.0, 10, 100, 0.2) for step in range(1, 101)]
    assert rates[4] == pytest.approx(0.5)
    assert max(rates) == rates[9] == 1.0
    assert rates[39] == pytest.approx((10 / 40) ** 0.5)
    assert all(later < earlier for earlier, later in itertools.pairwise(rates[9:]))
    assert rates[-1] < 0.03


def test_the_optimizer_owns_fp32_masters_of_bf16_weights() -> None:
    model = TranslationModel(tiny_config()).bfloat16()
    optimizer = MasterOptimizer(model, 0.0, use_muon=True)
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    assert optimizer.step((1e-2, 1e-2), max_norm=1.0) > 1
    for (name, parameter), master in zip(model.named_parameters(), optimizer.master_weights(), strict=True):
        assert master.dtype == torch.float32
        assert torch.equal(parameter, master.bfloat16())
        assert not torch.equal(parameter, before[name])


def test_rates_can_be_scaled_by_name() -> None:
    """What a parameter moves is proportional to its rate, for matrices (Muon) and for the rest (Adam)."""
    moved = {}
    for scale in (1.0, 0.25):
        torch.manual_seed(1)
        model = TranslationModel(tiny_config())
        before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
        optimizer = MasterOptimizer(model, 0.0, True, lambda name, scale=scale: scale if "encoder" in name else 1.0)  # type: ignore[misc]
        for parameter in model.parameters():
            parameter.grad = torch.randn_like(parameter)
        optimizer.step((1e-3, 1e-3), max_norm=1.0)
        moved[scale] = {name: (parameter - before[name]).norm().item() for name, parameter in model.named_parameters()}
    for name, full in moved[1.0].items():
        assert moved[0.25][name] == pytest.approx(full * (0.25 if "encoder" in name else 1.0), rel=1e-3), name


def test_a_run_that_was_saved_before_rates_could_be_scaled_goes_on() -> None:
    model = TranslationModel(tiny_config())
    optimizer = MasterOptimizer(model, 0.0, use_muon=True)
    state = optimizer.state_dict()
    for saved in state["optimizers"]:
        for group in saved["param_groups"]:
            del group["scale"]
    optimizer.load_state_dict(state)
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    before = model.embedding.weight.detach().clone()
    optimizer.step((1e-3, 1e-3), max_norm=1.0)
    assert not torch.equal(model.embedding.weight, before)

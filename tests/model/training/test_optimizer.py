"""What an update is made of: the loss, the rate, the optimizer."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model.training.loss import projected_cross_entropy
from model.training.optimizer import MasterOptimizer, adam_matrices
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
    for our, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(our, other, rtol=1e-4, atol=1e-4)


def slow_rate(step: int, peak: float, warmup: int, total: int, decay: float) -> float:
    """The rate of one step, phase by phase: the line of the decay passes through its first step and meets zero one step
    after the last."""
    first = max(warmup, round(total * (1 - decay)))
    if step <= warmup:
        return peak * step / warmup
    if step <= first:
        return peak * math.sqrt(warmup) / math.sqrt(step)
    at_first = peak * math.sqrt(warmup) / math.sqrt(first)
    return at_first - at_first / (total + 1 - first) * (step - first)


@given(
    peak=st.floats(1e-4, 10),
    warmup=st.integers(1, 60),
    total=st.integers(1, 300),
    decay=st.sampled_from((0.0, 0.1, 0.2, 0.5, 1.0)),
)
def test_every_step_has_the_rate_of_its_phase(peak: float, warmup: int, total: int, decay: float) -> None:
    for step in range(1, total + 1):
        expected = slow_rate(step, peak, warmup, total, decay)
        assert learning_rate(step, peak, warmup, total, decay) == pytest.approx(expected, rel=1e-9)
        assert expected > 0


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


@pytest.mark.parametrize("use_muon", [True, False])
@pytest.mark.parametrize("decay", [0.0, 0.5])
def test_weight_decay_shrinks_the_matrices_of_muon_and_nothing_else(use_muon: bool, decay: float) -> None:
    """Without gradients only weight decay moves a weight: by the rate of Muon times the decay."""
    torch.manual_seed(3)
    model = TranslationModel(tiny_config())
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    optimizer = MasterOptimizer(model, decay, use_muon)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step((0.7, 0.1), max_norm=1.0)
    by_adam, shrunk = adam_matrices(model), 0
    for name, parameter in model.named_parameters():
        is_shrunk = use_muon and parameter.dim() == 2 and name not in by_adam
        expected = before[name] * (1 - 0.1 * decay) if is_shrunk else before[name]
        torch.testing.assert_close(parameter.detach(), expected, rtol=1e-6, atol=0)
        shrunk += is_shrunk
    assert (shrunk > 10) == use_muon


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_gradients_are_clipped_to_their_norm(size: float) -> None:
    """Adam does not see how large gradients are, but its momentum does: a second, unclipped gradient tells."""
    model = TranslationModel(tiny_config())
    optimizer = MasterOptimizer(model, 0.0, use_muon=True)
    torch.manual_seed(4)
    gradients = [torch.randn_like(parameter) for parameter in model.parameters()]
    whole = float(torch.cat([gradient.flatten() for gradient in gradients]).norm())
    for parameter, gradient in zip(model.parameters(), gradients, strict=True):
        parameter.grad = gradient * (size / whole)
    assert optimizer.step((1e-3, 1e-3), max_norm=1.0) == pytest.approx(size, rel=1e-4)
    left = torch.cat([m.grad.flatten() for m in optimizer.master_weights() if m.grad is not None]).norm()
    assert float(left) == pytest.approx(min(size, 1.0), rel=1e-4)

"""Muon in fp32 beside torch's own, which iterates in bf16."""

import pytest
import torch

from model.training.muon import Muon, orthogonalized


@pytest.mark.parametrize("shape", [(24, 24), (16, 48), (48, 16)])
def test_singular_values_are_near_one(shape: tuple[int, int]) -> None:
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    values = torch.linalg.svdvals(orthogonalized(matrix))
    assert values.min() > 0.3
    assert values.max() < 1.3


@pytest.mark.parametrize("shape", [(24, 24), (16, 48), (48, 16)])
def test_steps_are_torchs(shape: tuple[int, int]) -> None:
    generator = torch.Generator().manual_seed(2)
    start = torch.randn(shape, generator=generator)
    ours, theirs = start.clone().requires_grad_(), start.clone().requires_grad_()
    muon = Muon([{"params": [ours]}], 0.1, torch.bfloat16)
    peer = torch.optim.Muon([theirs], lr=0.05, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    muon.param_groups[0]["lr"] = 0.05
    for _ in range(4):
        gradient = torch.randn(shape, generator=generator)
        ours.grad, theirs.grad = gradient.clone(), gradient.clone()
        muon.step()
        peer.step()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(ours, theirs, atol=2e-2, rtol=0)
    assert (ours - start).abs().max() > 0.1

"""Muon: every matrix moves by its momentum made orthogonal (K. Jordan, "Muon: an optimizer for hidden layers", 2024).

torch.optim.Muon always iterates in bf16, which is ten times slower than fp32 on processors without bf16 products.
"""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

MOMENTUM = 0.95
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
ITERATIONS = 5


def orthogonalized(matrix: Tensor) -> Tensor:
    """The nearest matrix with singular values near one, [out, in] as `matrix` and in its precision.

    Five quintic Newton-Schulz iterations x <- a x + (b g + c g g) x with g = x x^T.
    """
    a, b, c = COEFFICIENTS
    is_tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if is_tall else matrix
    x = x / x.norm().clamp(min=1e-7)
    for _ in range(ITERATIONS):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if is_tall else x


class Muon(torch.optim.Optimizer):
    """Nesterov momentum, orthogonalized in `precision`; steps as large as Adam's (0.2 sqrt(longer side), Liu et al.
    2025, "Muon is scalable for LLM training"); decoupled weight decay."""

    def __init__(self, groups: Iterable[dict[str, Any]], weight_decay: float, precision: torch.dtype) -> None:
        super().__init__(groups, {"lr": 0.0, "weight_decay": weight_decay})
        self.precision = precision

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for matrix in group["params"]:
                if matrix.grad is None:
                    continue
                state = self.state[matrix]
                momentum = state.setdefault("momentum_buffer", torch.zeros_like(matrix))
                momentum.lerp_(matrix.grad, 1 - MOMENTUM)
                update = orthogonalized(matrix.grad.lerp(momentum, MOMENTUM).to(self.precision))
                matrix.mul_(1 - group["lr"] * group["weight_decay"])
                matrix.add_(update.to(matrix.dtype), alpha=-group["lr"] * 0.2 * math.sqrt(max(matrix.shape)))

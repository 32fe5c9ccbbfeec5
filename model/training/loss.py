"""Label-smoothed cross-entropy together with the output projection, in chunks, so that no tensor [tokens, vocabulary]
is made."""

from typing import Any

import torch
from torch import Tensor

CHUNK, CHUNK_ON_GPU = 256, 8192
"""Tokens at a time: as many as fit into a processor's cache, and as many as keep a GPU busy."""


class ProjectedCrossEntropy(torch.autograd.Function):
    """loss = sum over tokens of (1-s) * -log p(target) + s * mean over the vocabulary of -log p.

    The gradient with respect to the logits, softmax - smoothed target, is known in closed form, so forward computes
    both gradients right away, chunk by chunk, and backward only scales them.
    """

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        """hidden [token, d], weight [vocabulary, d], target [token] -> (smoothed loss, plain nll), sums in fp32."""
        loss = torch.zeros((), device=hidden.device)
        nll = torch.zeros((), device=hidden.device)
        grad_hidden = torch.empty_like(hidden)
        grad_weight = torch.zeros(weight.shape, device=weight.device)
        vocabulary, chunk = weight.shape[0], CHUNK_ON_GPU if hidden.is_cuda else CHUNK
        for start in range(0, hidden.shape[0], chunk):
            rows = hidden[start : start + chunk]
            wanted = target[start : start + chunk, None]
            logits = (rows @ weight.T).float()
            log_normalizer = logits.logsumexp(dim=-1, keepdim=True)
            token_nll = (log_normalizer - logits.gather(1, wanted)).sum()
            nll += token_nll
            uniform_nll = (log_normalizer - logits.mean(dim=-1, keepdim=True)).sum()
            loss += (1 - smoothing) * token_nll + smoothing * uniform_nll
            grad = logits.sub_(log_normalizer).exp_().sub_(smoothing / vocabulary)
            grad.scatter_add_(1, wanted, torch.full_like(wanted, smoothing - 1, dtype=grad.dtype))
            grad = grad.to(hidden.dtype)
            grad_hidden[start : start + chunk] = grad @ weight
            if ctx.needs_input_grad[1]:
                grad_weight += grad.T @ rows
        ctx.save_for_backward(grad_hidden, grad_weight.to(weight.dtype))
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None]:
        grad_hidden, grad_weight = ctx.saved_tensors
        scale = grads[0]
        return grad_hidden * scale.to(grad_hidden.dtype), grad_weight * scale.to(grad_weight.dtype), None, None


def projected_cross_entropy(hidden: Tensor, weight: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """See ProjectedCrossEntropy.forward; gradients flow into `hidden` and `weight` through the first result."""
    loss, nll = ProjectedCrossEntropy.apply(hidden, weight, target, smoothing)  # type: ignore[no-untyped-call]
    return loss, nll

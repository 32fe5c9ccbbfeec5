"""Log-perplexity: what each sentence costs, and differences between rows on the same sentences."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from model.config import PAD_ID
from model.data.batching import Pair, batches_by_tokens, collate
from model.training.checkpoint import AnyModel

BATCH_TOKENS = 2048
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A mean and its standard error over sentences."""

    value: float
    error: float

    @property
    def perplexity(self) -> "Estimate":
        """Of a log-perplexity."""
        return Estimate(math.exp(self.value), math.exp(self.value) * self.error)


@torch.inference_mode()
def sentence_nll(model: AnyModel, pairs: Sequence[Pair]) -> list[tuple[float, int]]:
    """Negative log-likelihood (nats) and number of tokens of every target, EOS included, in the order given."""
    order = sorted(range(len(pairs)), key=lambda index: (len(pairs[index].target), len(pairs[index].source)))
    scored: list[tuple[float, int]] = []
    for group in batches_by_tokens([pairs[index] for index in order], BATCH_TOKENS):
        batch = collate(group)
        wanted = batch.target_out != PAD_ID
        hidden = model.hidden(batch.source, batch.source_keep, batch.target_in)[wanted]
        nll = torch.zeros(wanted.shape)
        nll[wanted] = nn.functional.cross_entropy(
            model.embedding.logits(hidden), batch.target_out[wanted], reduction="none"
        )
        scored += zip(nll.sum(dim=1).tolist(), wanted.sum(dim=1).tolist(), strict=True)
    by_index = dict(zip(order, scored, strict=True))
    return [by_index[index] for index in range(len(pairs))]


def per_token(total: Array, tokens: Array) -> Estimate:
    """sum(total) / sum(tokens), and its standard error when sentences are drawn at random (ratio estimator)."""
    value = float(total.sum() / tokens.sum())
    residual = total - value * tokens
    count = len(total)
    if count < 2:
        return Estimate(value, float("inf"))
    return Estimate(value, float(np.sqrt(count / (count - 1) * (residual**2).sum()) / tokens.sum()))


def mean_estimate(estimates: Sequence[Estimate]) -> Estimate:
    """The mean of estimates from independent sets of sentences, every set counting the same."""
    values, errors = np.array([e.value for e in estimates]), np.array([e.error for e in estimates])
    return Estimate(float(values.mean()), float(np.sqrt((errors**2).sum()) / len(errors)))

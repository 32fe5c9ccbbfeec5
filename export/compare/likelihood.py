"""The negative log-likelihood of the sentences of a set."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from model.data.batching import Batch, Pair, collate
from model.scoring import log_probabilities
from model.training.checkpoint import AnyModel

BATCH_ROWS = 16


@torch.no_grad()
def sentence_nll(
    model: AnyModel, pairs: Sequence[Pair], hidden: Callable[[Batch, list[int]], Tensor] | None = None
) -> list[float]:
    """Negative log-likelihood (nats) of every target, EOS included, in the order given. `hidden` computes the final
    states of a batch, whose rows have these indices in `pairs`; without it the sentences have no context."""
    order = sorted(range(len(pairs)), key=lambda index: (len(pairs[index].target), len(pairs[index].source)))
    nll: dict[int, float] = {}
    for start in range(0, len(order), BATCH_ROWS):
        rows = order[start : start + BATCH_ROWS]
        batch = collate([pairs[row] for row in rows])
        inputs = batch.source, batch.source_keep, batch.target_in
        state = model.hidden(*inputs) if hidden is None else hidden(batch, rows)
        nll |= dict(zip(rows, (-log_probabilities(model, state, batch.target_out)).tolist(), strict=True))
    return [nll[index] for index in range(len(pairs))]

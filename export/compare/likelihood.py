"""The negative log-likelihood of sentences without context."""

from collections.abc import Sequence

import torch
from torch import nn

from model.config import PAD_ID
from model.data.batching import Pair, batches_by_tokens, collate
from model.training.checkpoint import AnyModel

BATCH_TOKENS = 2048


@torch.inference_mode()
def sentence_nll(model: AnyModel, pairs: Sequence[Pair]) -> list[float]:
    """Negative log-likelihood (nats) of every target, EOS included, in the order given."""
    order = sorted(range(len(pairs)), key=lambda index: (len(pairs[index].target), len(pairs[index].source)))
    scored: list[float] = []
    for group in batches_by_tokens([pairs[index] for index in order], BATCH_TOKENS):
        batch = collate(group)
        wanted = batch.target_out != PAD_ID
        hidden = model.hidden(batch.source, batch.source_keep, batch.target_in)[wanted]
        nll = torch.zeros(wanted.shape)
        nll[wanted] = nn.functional.cross_entropy(
            model.embedding.logits(hidden), batch.target_out[wanted], reduction="none"
        )
        scored += nll.sum(dim=1).tolist()
    by_index = dict(zip(order, scored, strict=True))
    return [by_index[index] for index in range(len(pairs))]

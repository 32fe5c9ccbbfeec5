"""Log-probabilities of given translations, with the context of a document and without."""

from collections.abc import Sequence

import torch
from torch import Tensor

from model.config import PAD_ID
from model.data.batching import Batch, Pair, collate
from model.document import DocumentModel, words_of
from model.translation_model import TranslationModel


def log_probabilities(model: TranslationModel, hidden: Tensor, target_out: Tensor) -> Tensor:
    """hidden [row, target, d], target_out [row, target] ending with EOS -> summed log-probability [row], nats."""
    chosen = torch.log_softmax(model.embedding.logits(hidden).float(), dim=-1).gather(2, target_out[:, :, None])[
        :, :, 0
    ]
    return chosen.masked_fill(target_out == PAD_ID, 0).sum(dim=-1)


@torch.no_grad()
def score_alone(model: TranslationModel, source: list[int], targets: Sequence[list[int]]) -> list[float]:
    """log p(target | source) of each target; ids without EOS, whose probability counts."""
    batch = batch_of(source, targets)
    memory = model.encode(batch.source, batch.source_keep)
    hidden = model.decode(batch.target_in, memory, batch.source_keep)
    return [float(score) for score in log_probabilities(model, hidden, batch.target_out)]


@torch.no_grad()
def score_in_context(
    model: DocumentModel, source: list[int], targets: Sequence[list[int]], context: Sequence[Pair]
) -> list[float]:
    """log p(target | source, context) of each target. `context` are the visible sentences of the document; their
    targets matter on the decoder's side only. No context is the sentence model."""
    if not context:
        return score_alone(model.base, source, targets)
    batch = batch_of(source, targets)
    store = model.store(words_of(model.base, model.config.side, collate(context)))
    keep = torch.ones(len(targets), len(context), dtype=torch.bool)
    hidden = model.hidden(batch, store, keep)
    return [float(score) for score in log_probabilities(model.base, hidden, batch.target_out)]


def batch_of(source: list[int], targets: Sequence[list[int]]) -> Batch:
    return collate([Pair(source, list(target)) for target in targets])

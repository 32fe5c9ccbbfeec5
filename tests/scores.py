"""The slow reference of the server's scores: one teacher-forced pass over a whole translation."""

from collections.abc import Sequence

import torch

from export.context_parity import half_precision
from model.config import BOS_ID, PAD_ID, UNK_ID
from model.data.batching import Pair, collate
from model.document import DocumentModel, words_of
from model.masks import HIDDEN
from model.translation_model import TranslationModel


@torch.no_grad()
def teacher_forced(
    model: TranslationModel | DocumentModel, source: Sequence[int], target: Sequence[int], context: Sequence[Pair] = ()
) -> list[float]:
    """The log-probability of every token, among the words that can be decoded. `source` and `target` end with EOS;
    `context` are the pairs that the sentence sees."""
    base = model.base if isinstance(model, DocumentModel) else model
    batch = collate([Pair(list(source[:-1]), list(target[:-1]))])
    if context and isinstance(model, DocumentModel):
        store = half_precision(model.store(words_of(base, model.config.side, collate(list(context)))))
        hidden = model.hidden(batch, store, torch.ones(1, len(context), dtype=torch.bool))
    else:
        hidden = base.decode(batch.target_in, base.encode(batch.source, batch.source_keep), batch.source_keep)
    logits = base.embedding.logits(hidden).float()
    logits[..., [PAD_ID, UNK_ID, BOS_ID]] = HIDDEN
    log_probabilities = torch.log_softmax(logits, dim=-1)[0].gather(1, batch.target_out[0, :, None])[:, 0]
    return [float(value) for value in log_probabilities]

"""What the server keeps of a document is rounded to half precision: how much that moves, beside a reference that rounds
nothing. Everywhere else the reference rounds, too, so that it can be compared closely."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from export.context_parity import half_precision
from model.config import CONTEXT_ATTENTIONS, PAD_ID
from model.context import Store
from model.data.batching import collate
from model.document import DocumentModel, words_of
from model.training.document_checkpoint import load_document_model
from tests.documents import lively_document_model, some_pairs

ZOO = Path(__file__).parent.parent.parent / "model/zoo"
RANDOM_WEIGHTS, BUNDLED_MODEL = 0.03, 8e-4
"""Nats of a whole translation; the largest differences ever seen are 0.022 and 0.00055."""
BATCH = collate(some_pairs((4, 9, 13, 6, 2, 20), seed=1))


@torch.no_grad()
def scores(model: DocumentModel, store: Store) -> Tensor:
    """[sentence], log-probabilities of whole translations that see all other sentences of the document."""
    others = ~torch.eye(len(BATCH.source), dtype=torch.bool)
    logits = model.base.embedding.logits(model.hidden(BATCH, store, others))
    result = torch.log_softmax(logits.float(), dim=-1).gather(2, BATCH.target_out[..., None])[..., 0]
    return (result * (BATCH.target_out != PAD_ID)).sum(dim=1)


@torch.no_grad()
def moved(model: DocumentModel) -> float:
    """By how much rounding moves the score that moves most."""
    store = model.store(words_of(model.base, model.config.side, BATCH))
    return float((scores(model, half_precision(store)) - scores(model, store)).abs().max())


@pytest.mark.parametrize("side", ["encoder", "decoder"])
@pytest.mark.parametrize("attention", CONTEXT_ATTENTIONS)
def test_random_weights(attention: str, side: str) -> None:
    assert 0 < moved(lively_document_model(attention, side)) < RANDOM_WEIGHTS


def test_the_bundled_model() -> None:
    assert 0 < moved(load_document_model(ZOO / "en-de").eval()) < BUNDLED_MODEL

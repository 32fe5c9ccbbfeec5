"""A small document model for tests, and documents of token ids for it."""

from collections.abc import Sequence

import torch

from model.config import ContextConfig
from model.data.batching import Pair
from model.document import DocumentModel
from tests.models import lively_model, tiny_config


def lively_document_model(attention: str = "sparse-soft", side: str = "encoder", seed: int = 0) -> DocumentModel:
    """Random weights in evaluation mode, with context that changes translations."""
    base = lively_model(tiny_config(), seed)
    config = ContextConfig(attention=attention, side=side, num_heads=2, ffn_dim=64, dropout=0.0)
    torch.manual_seed(seed + 1)
    model = DocumentModel(base, config).eval()
    with torch.no_grad():
        for parameter in model.context.attention.parameters():
            parameter.mul_(2)
        if side == "decoder":  # as loud as the last norm, or context only ever shortens what is there
            model.context.ffn_norm.weight.copy_(2 * torch.randn(base.config.d_model))
    return model


def some_pairs(lengths: Sequence[int], seed: int = 0) -> list[Pair]:
    """Pairs of random ids; targets are one longer than sources."""
    generator = torch.Generator().manual_seed(seed)
    return [
        Pair(*(torch.randint(4, 320, (n,), generator=generator).tolist() for n in (length, length + 1)))
        for length in lengths
    ]

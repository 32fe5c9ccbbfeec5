"""Decoding in tests: random sources and targets, and one token at a time through the rings."""

import torch
from torch import Tensor

from model.config import BOS_ID
from model.translation_model import TranslationModel

LENGTH = 23


def some_source(rows: int = 1, length: int = 6, seed: int = 0) -> tuple[Tensor, Tensor]:
    source = torch.randint(4, 320, (rows, length), generator=torch.Generator().manual_seed(seed))
    return source, torch.ones_like(source, dtype=torch.bool)


def some_target(rows: int = 1, length: int = LENGTH, seed: int = 1) -> Tensor:
    target = torch.randint(4, 320, (rows, length), generator=torch.Generator().manual_seed(seed))
    target[:, 0] = BOS_ID
    return target


def stepwise(
    model: TranslationModel, source: Tensor, keep: Tensor, target: Tensor, start: list[int] | None = None
) -> Tensor:
    """Logits [row, length, vocabulary] one token at a time; row r waits start[r] steps before it begins."""
    rows, length = target.shape
    starts = torch.tensor(start or [0] * rows)
    cross = model.decoder.project_source(model.encode(source, keep))
    rings, out = model.empty_rings(rows), torch.zeros(rows, length, 320, dtype=torch.float64)
    for step in range(length + int(starts.max())):
        position = step - starts
        active = (position >= 0) & (position < length)
        safe = position.clamp(0, length - 1)
        token = target[torch.arange(rows), safe]
        logits, new = model.step(token, safe, rings, cross, keep)
        rings = [
            tuple(
                torch.where(active.view(-1, *[1] * (n.dim() - 1)), n, o)
                for n, o in zip(layer_new, layer_old, strict=True)
            )
            for layer_new, layer_old in zip(new, rings, strict=True)
        ]
        out[torch.arange(rows)[active], safe[active]] = logits[active]
    return out

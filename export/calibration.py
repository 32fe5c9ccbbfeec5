"""Activation ranges for int8: what the linear maps see while the model translates some text."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from model.translation_model import TranslationModel

Ranges = dict[str, float]
"""Largest absolute input by the name of the module, and under "embedding" that of the output projection."""


@torch.no_grad()
def input_ranges(model: TranslationModel, sources: Sequence[Sequence[int]], max_length: int = 60) -> Ranges:
    """Over greedy translations of `sources` (ids with EOS)."""
    if not model.config.is_plain:
        # Weights that do not sum to one are largest where there is least to see.
        sources = [*sources, [model.config.eos_id]]
    with recorded_ranges(model) as ranges:
        # One by one: padding would widen the ranges.
        for ids in sources:
            greedy(model, torch.tensor([ids]), max_length)
    return ranges


@contextmanager
def recorded_ranges(model: TranslationModel) -> Iterator[Ranges]:
    """Within: what every nn.Linear of the model reads. One that is never called has no range."""
    largest: Ranges = {}

    def record(site: str, x: Tensor) -> None:
        largest[site] = max(largest.get(site, 0.0), float(x.abs().max()))

    def watch(site: str) -> Callable[[nn.Module, Any], None]:
        return lambda module, arguments: record(site, arguments[0])

    linears = [(name, module) for name, module in model.named_modules() if isinstance(module, nn.Linear)]
    hooks = [module.register_forward_pre_hook(watch(name)) for name, module in linears]
    hooks.append(
        model.decoder.norm.register_forward_hook(lambda module, arguments, output: record("embedding", output))
    )
    try:
        yield largest
    finally:
        for hook in hooks:
            hook.remove()


def greedy(model: TranslationModel, source: Tensor, max_length: int) -> list[int]:
    """Greedy ids of one sentence [1, source], through the ring."""
    keep = torch.ones_like(source, dtype=torch.bool)
    cross = model.decoder.project_source(model.encode(source, keep))
    rings, token, ids = model.empty_rings(1), model.config.bos_id, list[int]()
    for position in range(min(max_length, model.config.max_length)):
        logits, rings = model.step(torch.tensor([token]), torch.tensor([position]), rings, cross, keep)
        token = int(logits[0].argmax())
        if token == model.config.eos_id:
            break
        ids.append(token)
    return ids

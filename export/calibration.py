"""Activation ranges for int8: what the linear maps see while the model translates some text."""

import torch
from torch import Tensor, nn

from model.config import BOS_ID, EOS_ID
from model.translation_model import TranslationModel

SITES = (
    "self_attention.query", "self_attention.output", "cross_attention.query", "cross_attention.memory",
    "cross_attention.output", "ffn.expand", "ffn.contract",
)  # fmt: skip
"""Linear maps whose input gets one fixed range."""


@torch.no_grad()
def input_ranges(model: TranslationModel, sources: list[list[int]], max_length: int = 60) -> dict[str, float]:
    """Largest absolute input of every linear map, over greedy translations of `sources` (ids
    without EOS). Keys are state-dict prefixes, and "embedding" for the output projection."""
    largest: dict[str, float] = {}
    hooks = []

    def record(site: str, x: Tensor) -> None:
        largest[site] = max(largest.get(site, 0.0), float(x.abs().max()))

    def watch(site: str) -> "nn.modules.module._GlobalForwardPreHook":  # type: ignore[name-defined]
        return lambda module, arguments: record(site, arguments[0])

    for name, module in model.named_modules():
        if isinstance(module, nn.Linear) and name.endswith(SITES):
            hooks.append(module.register_forward_pre_hook(watch(name)))
    hooks.append(
        model.decoder.norm.register_forward_hook(lambda module, arguments, output: record("embedding", output))
    )
    # One by one: padding would widen the ranges.
    for ids in sources:
        greedy(model, torch.tensor([[*ids[: model.config.max_length - 1], EOS_ID]]), max_length)
    for hook in hooks:
        hook.remove()
    return largest


def greedy(model: TranslationModel, source: Tensor, max_length: int) -> list[int]:
    """Greedy ids of one sentence [1, source], through the ring."""
    keep = torch.ones_like(source, dtype=torch.bool)
    cross = model.decoder.project_source(model.encode(source, keep))
    rings, token, ids = model.empty_rings(1), BOS_ID, list[int]()
    for position in range(min(max_length, model.config.max_length)):
        logits, rings = model.step(torch.tensor([token]), torch.tensor([position]), rings, cross, keep)
        token = int(logits[0].argmax())
        if token == EOS_ID:
            break
        ids.append(token)
    return ids

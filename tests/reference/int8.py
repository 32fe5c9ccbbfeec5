"""Twin of the int8 graphs: a model whose linear maps and embeddings take the same levels, in PyTorch."""

import copy
from collections.abc import Mapping
from typing import TypeVar

import torch
from torch import Tensor, nn

from export.onnx_graph.linear import OUTPUT, RECTIFIED, SIGNED, Levels, level_width, quantize_weight
from model.document import DocumentModel
from model.translation_model import TranslationModel

Model = TypeVar("Model", TranslationModel, DocumentModel)


def levelled(x: Tensor, largest: float, levels: Levels = SIGNED) -> Tensor:
    """x in whole levels, as numbers again."""
    width = float(level_width(largest, levels))
    lowest, highest = -int(levels.zero), 255 - int(levels.zero)
    return (x / width).round().clamp(lowest, highest) * width


def of_levels(weight: Tensor) -> Tensor:
    """A weight [out, in] as int8 keeps it."""
    kept = quantize_weight(weight.detach().numpy())
    return torch.from_numpy(kept.values * kept.scale[:, None])


class LevelLinear(nn.Module):
    """A linear map over levels."""

    def __init__(self, linear: nn.Linear, largest: float, levels: Levels) -> None:
        super().__init__()
        self.weight, self.bias, self.largest, self.levels = of_levels(linear.weight), linear.bias, largest, levels

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.linear(levelled(x, self.largest, self.levels), self.weight, self.bias)


def at_int8(model: Model, ranges: Mapping[str, float]) -> Model:
    """A copy of the model; `ranges` as export.calibration gives them. What follows a ReLU has levels from zero up."""
    twin = copy.deepcopy(model)
    base = twin.base if isinstance(twin, DocumentModel) else twin
    for name, module in list(twin.named_modules()):
        site = name.removeprefix("base.")
        if isinstance(module, nn.Linear) and site in ranges:
            parent, _, child = name.rpartition(".")
            levels = RECTIFIED if child == "contract" else SIGNED
            setattr(twin.get_submodule(parent), child, LevelLinear(module, ranges[site], levels))
    with torch.no_grad():
        base.embedding.weight.copy_(of_levels(base.embedding.weight))
    logits = base.embedding.logits
    base.embedding.logits = lambda hidden: logits(levelled(hidden, ranges[OUTPUT]))  # type: ignore[method-assign]
    return twin

"""The attention variants under test, and small attentions of each kind with the same inputs for all of them."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from model.attention.multi_head import MultiHeadAttention
from model.attention.select import build_attention
from model.attention.visible_keys import VisibleKeys
from model.config import KINDS, AttentionConfig, ModelConfig, Site
from model.translation_model import TranslationModel
from tests.models import lively_model, tiny_config
from tests.reference.multi_head import Array, Weights

D, HEADS = 32, 2

Values = dict[str, object]


def everywhere(**values: object) -> Values:
    """The same attention at all three sites; relative positions and segments only where they are possible."""
    decoder = {key: value for key, value in values.items() if key != "segment"}
    cross = {key: value for key, value in values.items() if key != "relative"}
    return {"encoder_attention": values, "decoder_attention": decoder, "cross_attention": cross}


def every_choice(kind: str) -> dict[str, Values]:
    """A kind of attention with the defaults of its options, and with every other choice of each."""
    choices = {kind: everywhere(kind=kind, layers="full")}
    for field in dataclasses.fields(AttentionConfig):
        if field.metadata.get("kind") == kind:
            for choice in field.metadata["choices"]:
                if choice != field.default:
                    choices[f"{kind}-{choice}"] = everywhere(kind=kind, layers="full", **{field.name: choice})
    return choices


VARIANTS: dict[str, Values] = {
    "relative": everywhere(relative=True),
    **{
        f"gauss-{window}": everywhere(kind="localness", layers="full", gauss_window=window)
        for window in ("fixed", "layer", "query", "head")
    },
    "gauss-thumt": everywhere(kind="localness", layers="full", gauss_coords="thumt"),
    "gauss-query-relative": everywhere(kind="localness", relative=True),
    "mw": everywhere(kind="window", layers="full", window_mode="multiplicative"),
    "mw-renorm": everywhere(kind="window", layers="full", window_mode="multiplicative", window_renorm=True),
    "aw": everywhere(kind="window", layers="full"),
    "segments": everywhere(kind="window", layers="full", segment=3),
}
"""Name -> changes of a configuration; other kinds are added under their own names."""
for further in KINDS:
    if further not in ("plain", "localness", "window") and not KINDS[further].is_recurrent:
        VARIANTS |= every_choice(further)
RECURRENT: dict[str, Values] = {
    "ssru": {"ngram": None, "decoder_attention": {"kind": "ssru", "layers": "full"}},
    "ssru-below": {"decoder_attention": {"kind": "ssru", "layers": [1]}},
}
"""Kinds that are no attention: without any ring, and below a layer that has one."""


def variant_config(name: str, **changes: object) -> ModelConfig:
    return tiny_config(**(({} if name == "plain" else (VARIANTS | RECURRENT)[name]) | changes))


def few_layers(name: str) -> dict[str, int]:
    """Changes that leave one layer on each side where the layers of a variant are of one kind, and so differ by their
    weights only; "aw" keeps two on each side, for the order and the names of their tensors."""
    return {} if name == "aw" else {"encoder_layers": 1, "decoder_layers": 2 if name == "ssru-below" else 1}


def attention_of(name: str, site: Site = "encoder", seed: int = 0) -> MultiHeadAttention:
    """One attention of a variant, float64, all parameters random."""
    torch.manual_seed(seed)
    module = build_attention(variant_config(name), site, 1).double()
    shake(module)
    return module


def shake(module: nn.Module) -> None:
    """Make every parameter random, and loud enough that energies differ."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn_like(parameter) * (0.3 if parameter.dim() > 1 else 0.5))


@dataclass(frozen=True)
class Inputs:
    """x_query [batch, query, d], x_key [batch, key, d], keep [batch, 1, query or 1, key], positions."""

    x_query: Tensor
    x_key: Tensor
    keep: Tensor
    query_position: Tensor
    key_position: Tensor

    def permuted(self, order: Tensor) -> "Inputs":
        return Inputs(
            self.x_query, self.x_key[:, order], self.keep[..., order], self.query_position, self.key_position[:, order]
        )

    def run(self, module: MultiHeadAttention, ordered: bool) -> Tensor:
        memory = module.project_memory(self.x_key)
        out: Tensor = module(self.x_query, memory, self.visible(ordered))
        return out

    def visible(self, ordered: bool = True) -> VisibleKeys:
        return VisibleKeys(self.keep, self.query_position, self.key_position, ordered)


def some_inputs(keep: Tensor, queries: int = 4, seed: int = 0) -> Inputs:
    """keep [batch, 1, query or 1, key]"""
    generator = torch.Generator().manual_seed(seed)
    batch, keys = keep.shape[0], keep.shape[3]
    return Inputs(
        torch.randn(batch, queries, D, generator=generator, dtype=torch.float64),
        torch.randn(batch, keys, D, generator=generator, dtype=torch.float64),
        keep,
        torch.arange(queries)[None],
        torch.arange(keys)[None],
    )


def padded_keep(lengths: list[int], width: int, side: str = "right") -> Tensor:
    """[batch, 1, 1, width] with `lengths` visible keys at the left or right end."""
    rows = torch.arange(width)[None] < torch.tensor(lengths)[:, None]
    return (rows if side == "right" else rows.flip(-1))[:, None, None]


Reference = Callable[[Weights, Array, list[Array], list[int]], Array]
"""(weights, one query, the keys that it sees in order, their distances to it) -> its output"""


def weights_of(module: nn.Module) -> dict[str, Array]:
    return {name: tensor.detach().double().numpy() for name, tensor in module.named_parameters()}


def assert_formula(module: MultiHeadAttention, inputs: Inputs, ordered: bool, reference: Reference) -> None:
    """The module's output is the reference's for every query that sees a key."""
    ours, weights = inputs.run(module, ordered).detach(), weights_of(module)
    batch, queries, _ = inputs.x_query.shape
    keep = inputs.keep[:, 0].expand(batch, queries, -1)
    for b in range(batch):
        positions = inputs.key_position[b % len(inputs.key_position)].tolist()
        for q in range(queries):
            seen = sorted((j for j in range(len(positions)) if keep[b, q, j]), key=lambda j: positions[j])
            here = int(inputs.query_position[0, q])
            x_keys = [inputs.x_key[b, j].numpy() for j in seen]
            if seen:
                expected = reference(weights, inputs.x_query[b, q].numpy(), x_keys, [positions[j] - here for j in seen])
                np.testing.assert_allclose(ours[b, q].numpy(), expected, atol=2e-5)


def lively_variant(name: str, loudness: float = 4, **changes: object) -> TranslationModel:
    """A model whose translations vary and end, and whose variant parameters are loud enough to matter.

    Loud ones make some localness windows so sharp that rounding in fp32 shows; runtimes are compared at loudness 1."""
    model = lively_model(variant_config(name, max_length=40, **changes))
    plain = set(dict(TranslationModel(tiny_config()).named_parameters()))
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if key not in plain:
                parameter.mul_(loudness if parameter.dim() > 1 else 1)
    return model

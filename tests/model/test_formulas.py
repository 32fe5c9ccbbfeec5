"""Every kind of attention against its paper's formula in loops: padded, in a decoder, and for keys in any order."""

from functools import partial

import pytest
import torch

from model.masks import ngram_keep
from tests.reference.localness import localness_energies
from tests.reference.multi_head import Array, Weights, attention
from tests.reference.relative import relative_attention
from tests.reference.window import window_attention
from tests.variants import HEADS, VARIANTS, Reference, assert_formula, attention_of, padded_keep, some_inputs


def relative(weights: Weights, query: Array, keys: list[Array], distances: list[int]) -> Array:
    return relative_attention(weights, query, keys, distances, HEADS)


def localness(width: str, coordinates: str, weights: Weights, query: Array, keys: list[Array], _: list[int]) -> Array:
    return attention(weights, query, keys, HEADS, localness_energies(weights, query, keys, HEADS, width, coordinates))


def localness_and_relative(weights: Weights, query: Array, keys: list[Array], distances: list[int]) -> Array:
    added = localness_energies(weights, query, keys, HEADS, "query", "paper")
    return relative_attention(weights, query, keys, distances, HEADS, added)


def window(
    mode: str, segment: int | None, renormalize: bool, weights: Weights, query: Array, keys: list[Array], _: list[int]
) -> Array:
    return window_attention(weights, query, keys, HEADS, mode, segment, renormalize)


FORMULAS: dict[str, Reference] = {
    "relative": relative,
    **{f"gauss-{width}": partial(localness, width, "paper") for width in ("fixed", "layer", "query", "head")},
    "gauss-thumt": partial(localness, "query", "thumt"),
    "gauss-query-relative": localness_and_relative,
    "mw": partial(window, "multiplicative", None, False),
    "mw-renorm": partial(window, "multiplicative", None, True),
    "aw": partial(window, "additive", None, False),
    "segments": partial(window, "additive", 3, False),
}


def test_every_variant_has_a_formula() -> None:
    assert list(FORMULAS) == list(VARIANTS)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", FORMULAS)
def test_it_is_the_formula_on_a_padded_batch(name: str, side: str) -> None:
    inputs = some_inputs(padded_keep([8, 3, 1], 8, side), queries=8)
    assert_formula(attention_of(name), inputs, ordered=True, reference=FORMULAS[name])
    permutation = torch.randperm(8, generator=torch.Generator().manual_seed(2))
    assert_formula(attention_of(name), inputs.permuted(permutation), ordered=False, reference=FORMULAS[name])


@pytest.mark.parametrize("name", [name for name in FORMULAS if name != "segments"])
def test_it_is_the_formula_in_a_decoder_and_for_keys_in_any_order(name: str) -> None:
    position = torch.arange(9)[None]
    inputs = some_inputs(ngram_keep(position, position, 4).expand(2, -1, -1, -1), queries=9)
    module = attention_of(name, "decoder")
    assert_formula(module, inputs, ordered=True, reference=FORMULAS[name])
    permutation = torch.randperm(9, generator=torch.Generator().manual_seed(1))
    assert_formula(module, inputs.permuted(permutation), ordered=False, reference=FORMULAS[name])

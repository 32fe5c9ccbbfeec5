"""Relative positions of one query against the formula, and what their tables mean; test_formulas.py has batches."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from model.attention.kinds.relative import FARTHEST, RelativePositions
from model.attention.visible_keys import VisibleKeys
from model.masks import ngram_keep
from tests.reference.multi_head import Array, Weights
from tests.reference.relative import relative_attention
from tests.variants import HEADS, Inputs, assert_formula, attention_of, padded_keep, some_inputs


def reference(weights: Weights, query: Array, keys: list[Array], distances: list[int]) -> Array:
    return relative_attention(weights, query, keys, distances, HEADS)


@settings(deadline=None, max_examples=10)
@given(order=st.permutations(range(9)), now=st.integers(0, 40))
def test_it_is_the_formula_for_one_query_and_keys_in_any_order(order: list[int], now: int) -> None:
    inputs = some_inputs(padded_keep([9], 9), queries=1, seed=now)
    moved = Inputs(inputs.x_query, inputs.x_key, inputs.keep, torch.tensor([[now]]), inputs.key_position)
    assert_formula(attention_of("relative", "decoder"), moved.permuted(torch.tensor(order)), False, reference)


def test_distances_beyond_the_farthest_share_a_vector() -> None:
    term = RelativePositions(4)
    query = torch.randn(1, 1, 1, 4)
    inputs = some_inputs(torch.ones(1, 1, 1, 60, dtype=torch.bool), queries=1)
    visible = VisibleKeys(inputs.keep, torch.tensor([[30]]), inputs.key_position)
    energy = term.energy(query, query, visible)[0, 0, 0]
    values = energy.tolist()
    assert len(set(values[: 30 - FARTHEST + 1])) == 1
    assert len(set(values[30 + FARTHEST :])) == 1
    assert len(set(values)) == 2 * FARTHEST + 1


def test_zero_tables_are_plain_attention() -> None:
    module, plain = attention_of("relative"), attention_of("relative")
    with torch.no_grad():
        for parameter in module.get_submodule("terms").parameters():
            parameter.zero_()
    plain.terms = torch.nn.ModuleDict()
    inputs = some_inputs(padded_keep([6, 2], 6))
    torch.testing.assert_close(inputs.run(module, True), inputs.run(plain, True))


def test_a_decoder_uses_only_the_distances_inside_its_window() -> None:
    module = attention_of("relative", "decoder")
    position = torch.arange(12)[None]
    inputs = some_inputs(ngram_keep(position, position, 4), queries=12)
    inputs.run(module, True).sum().backward()  # type: ignore[no-untyped-call]
    gradient = module.get_parameter("terms.relative.rel_v").grad
    assert gradient is not None
    used = gradient.abs().sum(dim=1).nonzero().flatten().tolist()
    assert used == [FARTHEST - 2, FARTHEST - 1, FARTHEST]

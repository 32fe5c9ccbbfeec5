"""What must hold for any pointers of the differentiable window; test_formulas.py has the formula."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from model.attention.kinds.window import segment_mask, token_mask
from model.attention.multi_head import MultiHeadAttention
from model.attention.visible_keys import VisibleKeys
from model.masks import ngram_keep
from tests.reference.window import window_mask
from tests.variants import HEADS, attention_of, padded_keep, some_inputs


def pointers(length: int, seed: int) -> tuple[Tensor, Tensor]:
    """Two random distributions, [1, 1, 1, length]."""
    generator = torch.Generator().manual_seed(seed)
    left, right = (torch.softmax(3 * torch.randn(1, 1, 1, length, generator=generator), -1) for _ in range(2))
    return left, right


def all_visible(length: int) -> VisibleKeys:
    return VisibleKeys(torch.ones(1, 1, 1, length, dtype=torch.bool), torch.zeros(1, 1), torch.arange(length)[None])


def one_hot(length: int, place: int) -> Tensor:
    return torch.nn.functional.one_hot(torch.tensor(place), length).float()[None, None, None]


@settings(deadline=None, max_examples=30)
@given(length=st.integers(1, 12), seed=st.integers(0, 999), size=st.sampled_from([None, 1, 2, 3, 5, 20]))
def test_running_sums_are_the_matrix_product(length: int, seed: int, size: int | None) -> None:
    left, right = pointers(length, seed)
    order = all_visible(length)
    ours = token_mask(left, right, order) if size is None else segment_mask(left, right, order, size)
    expected = window_mask(left.flatten().tolist(), right.flatten().tolist(), size)
    np.testing.assert_allclose(ours.flatten().numpy(), expected, atol=1e-5)


@given(length=st.integers(1, 9), places=st.tuples(st.integers(0, 8), st.integers(0, 8)))
def test_certain_pointers_give_a_hard_window_whichever_is_left(length: int, places: tuple[int, int]) -> None:
    first, last = sorted(place % length for place in places)
    for left, right in ((first, last), (last, first)):
        mask = token_mask(one_hot(length, left), one_hot(length, right), all_visible(length)).flatten().tolist()
        inside = 2.0 if first == last else 1.0
        assert mask == [inside if first <= j <= last else 0.0 for j in range(length)]


@settings(deadline=None, max_examples=30)
@given(length=st.integers(1, 12), seed=st.integers(0, 999))
def test_the_mask_lies_between_0_and_2(length: int, seed: int) -> None:
    left, right = pointers(length, seed)
    mask = token_mask(left, right, all_visible(length))
    assert (mask >= 0).all()
    assert (mask <= 2 + 1e-5).all()
    expectation = mask - left * right
    assert (expectation >= -1e-5).all()
    assert (expectation <= 1 + 1e-5).all()


def test_a_single_visible_key_has_mask_2() -> None:
    left, right = torch.zeros(1, 1, 1, 5), torch.zeros(1, 1, 1, 5)
    left[..., 3] = right[..., 3] = 1
    keep = left > 0
    assert float(token_mask(left, right, VisibleKeys(keep, torch.zeros(1, 1), torch.arange(5)[None]))[..., 3]) == 2


@pytest.mark.parametrize(("name", "value"), [("mw", 1.0), ("aw", 0.0)])
def test_a_mask_that_does_nothing_leaves_plain_attention(
    name: str, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, plain = attention_of(name), MultiHeadAttention(32, HEADS).double()
    plain.load_state_dict({key: tensor for key, tensor in module.state_dict().items() if key in plain.state_dict()})
    monkeypatch.setattr(module, "window_mask", lambda x, left, right, order: torch.full((), value))
    inputs = some_inputs(padded_keep([6, 2], 6))
    torch.testing.assert_close(inputs.run(module, True), inputs.run(plain, True), atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("name", "sums_to_one"), [("mw", False), ("mw-renorm", True), ("aw", True), ("segments", True)]
)
def test_which_weights_sum_to_one(name: str, sums_to_one: bool) -> None:
    """Every value 1 and no output projection: what comes out is the sum of the weights."""
    module = attention_of(name)
    with torch.no_grad():
        module.output.weight.copy_(torch.eye(32))
        module.output.bias.zero_()
        module.memory.weight[32:] = 0
        module.memory.bias[32:] = 1
    out = some_inputs(padded_keep([6, 4], 6)).run(module, True)
    assert torch.allclose(out, torch.ones_like(out), atol=1e-5) == sums_to_one


@settings(deadline=None, max_examples=30)
@given(length=st.integers(1, 12), size=st.integers(1, 14), seed=st.integers(0, 999))
def test_a_segment_shares_its_mask_and_sees_no_less_than_its_keys(length: int, size: int, seed: int) -> None:
    left, right = pointers(length, seed)
    order = all_visible(length)
    mask, by_token = segment_mask(left, right, order, size).flatten(), token_mask(left, right, order).flatten()
    for start in range(0, length, size):
        segment = mask[start : start + size]
        torch.testing.assert_close(segment, segment[:1].expand_as(segment))
    assert (mask >= by_token - 1e-5).all()
    assert (mask <= 2 + 1e-5).all()
    if size == 1:
        torch.testing.assert_close(mask, by_token)
    if size >= length:
        torch.testing.assert_close(mask, torch.full((length,), 2.0))


@pytest.mark.parametrize("name", ["mw", "aw"])
def test_pointers_do_not_see_the_future(name: str) -> None:
    position = torch.arange(8)[None]
    module = attention_of(name, "decoder")
    inputs = some_inputs(ngram_keep(position, position, None), queries=8)
    before = inputs.run(module, True)
    inputs.x_key[:, 5:] = 100
    after = inputs.run(module, True)
    torch.testing.assert_close(after[:, :5], before[:, :5])
    assert not torch.allclose(after[:, 5:], before[:, 5:])


@pytest.mark.parametrize("name", ["mw", "aw", "segments"])
def test_left_and_right_pointer_may_change_places(name: str) -> None:
    module = attention_of(name)
    inputs = some_inputs(padded_keep([7, 4], 7))
    before = inputs.run(module, True)
    with torch.no_grad():
        for parameter in (*module.boundary_query.parameters(), *module.boundary_key.parameters()):  # type: ignore[union-attr]
            parameter.copy_(torch.cat(parameter.chunk(2)[::-1]))
    torch.testing.assert_close(inputs.run(module, True), before)


@pytest.mark.parametrize(("name", "factor"), [("mw", 4), ("aw", 6), ("segments", 6)])
def test_windows_add_four_or_six_projections(name: str, factor: int) -> None:
    def size(module: torch.nn.Module) -> int:
        return sum(parameter.numel() for parameter in module.parameters())

    assert size(attention_of(name)) - size(MultiHeadAttention(32, HEADS)) == factor * (32**2 + 32)


def test_the_mask_of_uniform_pointers() -> None:
    """m_j = 2 (j/n) (n-j+1)/n."""
    uniform = torch.full((1, 1, 1, 6), 1 / 6)
    rank = torch.arange(1.0, 7.0)
    torch.testing.assert_close(token_mask(uniform, uniform, all_visible(6)).flatten(), 2 * rank / 6 * (7 - rank) / 6)

"""The N-gram mask and positions in the ring, for every order and any number of wraps; how a decoder uses them is in
test_variants_incremental.py."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model.attention.ring_cache import ring_positions
from model.attention.scaled_dot_product import attend
from model.masks import ngram_keep
from tests.decoding import LENGTH
from tests.reference.ngram import ngram_attention

ORDERS = [2, 3, 4, 8, None]


@pytest.mark.parametrize("order", ORDERS)
def test_attention_is_the_formula(order: int | None) -> None:
    generator = torch.Generator().manual_seed(3)
    query, key, value = (torch.randn(1, 2, LENGTH, 8, generator=generator, dtype=torch.float64) for _ in range(3))
    position = torch.arange(LENGTH)[None]
    ours = attend(query, key, value, ngram_keep(position, position, order))
    for head in range(2):
        expected = ngram_attention(query[0, head].numpy(), key[0, head].numpy(), value[0, head].numpy(), order)
        np.testing.assert_allclose(ours[0, head].numpy(), expected, atol=1e-6)


@given(order=st.integers(2, 12), length=st.integers(1, 30))
def test_row_i_sees_its_last_n_minus_1_keys(order: int, length: int) -> None:
    position = torch.arange(length)[None]
    keep = ngram_keep(position, position, order)[0, 0]
    for i in range(length):
        assert keep[i].sum() == min(i + 1, order - 1)
        assert keep[i, i]


@given(capacity=st.integers(1, 9), now=st.integers(0, 60))
def test_ring_positions_are_the_last_ones(capacity: int, now: int) -> None:
    positions = ring_positions(torch.tensor([now]), capacity)[0].tolist()
    held = sorted(position for position in positions if position >= 0)
    assert held == list(range(max(0, now - capacity + 1), now + 1))
    assert all(position % capacity == slot for slot, position in enumerate(positions) if position >= 0)


def test_a_row_without_any_key_stays_finite_and_its_gradients_too() -> None:
    query, key, value = (torch.randn(1, 1, 3, 4, requires_grad=True) for _ in range(3))
    out = attend(query, key, value, torch.zeros(1, 1, 3, 3, dtype=torch.bool))
    assert torch.equal(out, torch.zeros_like(out))
    out.sum().backward()  # type: ignore[no-untyped-call]
    for tensor in (query, key, value):
        assert tensor.grad is not None
        assert torch.isfinite(tensor.grad).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_stays_finite_with_many_keys_and_extreme_energies(dtype: torch.dtype) -> None:
    query, key = (torch.full((1, 1, 1, 4), 100.0, dtype=dtype), torch.randn(1, 1, 500, 4).to(dtype) * 100)
    out = attend(query, key, torch.ones_like(key), torch.ones(1, 1, 1, 500, dtype=torch.bool))
    assert torch.isfinite(out).all()
    torch.testing.assert_close(out, torch.ones_like(out), atol=1e-2, rtol=0)

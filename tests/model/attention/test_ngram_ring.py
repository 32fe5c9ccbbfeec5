"""The N-gram decoder and its ring: invariants that hold for every order, any length and any number of wraps."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from model.attention.ring_cache import ring_positions, ring_write
from model.attention.scaled_dot_product import attend
from model.config import BOS_ID
from model.decoder import LayerMemory
from model.masks import ngram_keep
from model.translation_model import TranslationModel
from tests.decoding import LENGTH, some_source, some_target, stepwise
from tests.models import lively_model, tiny_config
from tests.reference.ngram import ngram_attention

ORDERS = [2, 3, 4, 8, None]


def model_of(order: int | None, layers: int = 2) -> TranslationModel:
    return lively_model(tiny_config(ngram=order, decoder_layers=layers, max_length=40)).double()


@pytest.mark.parametrize("order", ORDERS)
def test_attention_is_the_formula(order: int | None) -> None:
    generator = torch.Generator().manual_seed(3)
    query, key, value = (torch.randn(1, 2, LENGTH, 8, generator=generator, dtype=torch.float64) for _ in range(3))
    position = torch.arange(LENGTH)[None]
    ours = attend(query, key, value, ngram_keep(position, position, order))
    for head in range(2):
        expected = ngram_attention(query[0, head].numpy(), key[0, head].numpy(), value[0, head].numpy(), order)
        np.testing.assert_allclose(ours[0, head].numpy(), expected, atol=1e-6)


@pytest.mark.parametrize("order", [LENGTH + 1, LENGTH + 5])
def test_an_order_beyond_the_length_is_full_attention(order: int) -> None:
    source, keep = some_source()
    target = some_target()
    wide, full = model_of(order), model_of(None)
    torch.testing.assert_close(wide(source, keep, target), full(source, keep, target))


@given(order=st.integers(2, 12), length=st.integers(1, 30))
def test_row_i_sees_its_last_n_minus_1_keys(order: int, length: int) -> None:
    position = torch.arange(length)[None]
    keep = ngram_keep(position, position, order)[0, 0]
    for i in range(length):
        assert keep[i].sum() == min(i + 1, order - 1)
        assert keep[i, i]


def test_order_2_gives_each_position_its_own_value() -> None:
    generator = torch.Generator().manual_seed(4)
    query, key, value = (torch.randn(1, 2, 9, 4, generator=generator) for _ in range(3))
    position = torch.arange(9)[None]
    torch.testing.assert_close(attend(query, key, value, ngram_keep(position, position, 2)), value)


@pytest.mark.parametrize("order", ORDERS)
def test_steps_equal_teacher_forcing_after_any_number_of_wraps(order: int | None) -> None:
    model, (source, keep), target = model_of(order), some_source(2), some_target(2)
    torch.testing.assert_close(stepwise(model, source, keep, target), model(source, keep, target), atol=1e-5, rtol=0)


@pytest.mark.parametrize("order", ORDERS)
def test_rows_at_different_positions_share_a_batch(order: int | None) -> None:
    model, (source, keep), target = model_of(order), some_source(3), some_target(3)
    together = stepwise(model, source, keep, target, start=[0, 5, 2])
    torch.testing.assert_close(together, model(source, keep, target), atol=1e-5, rtol=0)


@given(capacity=st.integers(1, 9), now=st.integers(0, 60))
def test_ring_positions_are_the_last_ones(capacity: int, now: int) -> None:
    positions = ring_positions(torch.tensor([now]), capacity)[0].tolist()
    held = sorted(position for position in positions if position >= 0)
    assert held == list(range(max(0, now - capacity + 1), now + 1))
    assert all(position % capacity == slot for slot, position in enumerate(positions) if position >= 0)


@settings(deadline=None, max_examples=20)
@given(permutation=st.permutations(range(7)), now=st.integers(0, 30), seed=st.integers(0, 9))
def test_slots_can_be_permuted_with_their_positions(permutation: list[int], now: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(1, 2, 1, 4, generator=generator)
    key, value = (torch.randn(1, 2, 7, 4, generator=generator) for _ in range(2))
    position, here = ring_positions(torch.tensor([now]), 7), torch.tensor([[now]])
    straight = attend(query, key, value, ngram_keep(here, position, None))
    key, value, position = key[:, :, permutation], value[:, :, permutation], position[:, permutation]
    torch.testing.assert_close(attend(query, key, value, ngram_keep(here, position, None)), straight)


@settings(deadline=None, max_examples=20)
@given(now=st.integers(0, 5), garbage=st.sampled_from([0.0, 1e6, -1e6]))
def test_what_lies_in_empty_slots_does_not_matter(now: int, garbage: float) -> None:
    model, (source, keep), target = model_of(8), some_source(), some_target()
    cross = model.decoder.project_source(model.encode(source, keep))
    rings: list[LayerMemory] = [tuple(torch.full_like(t, garbage) for t in layer) for layer in model.empty_rings(1)]
    for step in range(now + 1):
        logits, rings = model.step(target[:, step], torch.tensor([step]), rings, cross, keep)
    torch.testing.assert_close(logits, model(source, keep, target)[:, now], atol=1e-5, rtol=0)


@pytest.mark.parametrize(("order", "layers"), [(2, 1), (3, 1), (3, 2), (4, 2), (4, 3)])
def test_the_receptive_field_is_exactly_one_plus_layers_times_n_minus_2(order: int, layers: int) -> None:
    model, (source, keep), target = model_of(order, layers), some_source(), some_target()
    field = 1 + layers * (order - 2)
    base = model(source, keep, target)[0, -1]
    for distance in range(LENGTH - 1):
        changed = target.clone()
        changed[0, LENGTH - 1 - distance] = 7 if target[0, LENGTH - 1 - distance] != 7 else 8
        differs = not torch.allclose(model(source, keep, changed)[0, -1], base, atol=1e-9)
        assert differs == (distance < field)


@pytest.mark.parametrize("order", ORDERS)
def test_a_prefix_can_be_filled_in_at_once(order: int | None) -> None:
    """The last columns of a parallel forward, put into their slots, are the rings of a stepwise one."""
    model, (source, keep), target = model_of(order), some_source(), some_target()
    cross = model.decoder.project_source(model.encode(source, keep))
    rings = model.empty_rings(1)
    for step in range(11):
        _, rings = model.step(target[:, step], torch.tensor([step]), rings, cross, keep)
    layer = model.decoder.decoder_layers()[0]
    position = torch.arange(11)[None]
    projected = layer.self_attention.project_memory(layer.self_norm(model.embedding(target[:, :11], position)))
    for columns, ring in zip(projected, rings[0], strict=True):
        filled = torch.zeros_like(ring)
        for step in range(max(0, 11 - ring.shape[2]), 11):
            filled = ring_write(filled, columns[:, :, step : step + 1], torch.tensor([step]))
        torch.testing.assert_close(filled, ring, atol=1e-6, rtol=0)


@settings(deadline=None, max_examples=10)
@given(parents=st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=9, max_size=9))
def test_reordered_rings_equal_a_recomputation_from_the_tokens(parents: list[list[int]]) -> None:
    model = model_of(4)
    source, keep = some_source(1)
    source, keep = source.expand(3, -1), keep.expand(3, -1)
    cross = model.decoder.project_source(model.encode(source, keep))
    generator = torch.Generator().manual_seed(5)
    rings, histories = model.empty_rings(3), [[BOS_ID] for _ in range(3)]
    for step, parent in enumerate(parents):
        rings = [tuple(buffer[parent] for buffer in layer) for layer in rings]
        histories = [list(histories[p]) for p in parent]
        if step:
            for history in histories:
                history.append(int(torch.randint(4, 320, (1,), generator=generator)))
        token = torch.tensor([history[-1] for history in histories])
        logits, rings = model.step(token, torch.full((3,), step), rings, cross, keep)
    torch.testing.assert_close(logits, model(source, keep, torch.tensor(histories))[:, -1], atol=1e-5, rtol=0)


def test_a_padded_batch_equals_its_sentences_one_by_one() -> None:
    model = model_of(4)
    lengths = [3, 9, 1]
    source, keep = some_source(3, 9)
    for row, length in enumerate(lengths):
        keep[row, length:] = False
    target = some_target(3)
    together = model(source, keep, target)
    for row, length in enumerate(lengths):
        alone = model(source[row : row + 1, :length], keep[row : row + 1, :length], target[row : row + 1])
        torch.testing.assert_close(together[row : row + 1], alone, atol=1e-6, rtol=0)


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

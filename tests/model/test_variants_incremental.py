"""Plain attention and every variant decode token by token as they were trained, padded or not.

What models compute in fp32 is computed in float64 here, so that differences are errors and nothing else.
"""

from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from model.attention.ring_cache import ring_positions, ring_write
from model.config import BOS_ID, PAD_ID
from model.decoder import LayerMemory
from model.masks import ngram_keep
from model.translation_model import TranslationModel
from tests.decoding import LENGTH, some_source, some_target, stepwise
from tests.variants import VARIANTS, Inputs, attention_of, lively_variant, some_inputs

EVERY_KIND = ["plain", *VARIANTS]
SELF_ATTENTIONS = [name for name in EVERY_KIND if name != "segments"]
"""Without the one that is not possible in a decoder's self-attention."""
ORDERS = [("plain", order) for order in (2, 3, 8)] + [(name, order) for name in EVERY_KIND for order in (4, None)]
SELF_ORDERS = [case for case in ORDERS if case[0] in SELF_ATTENTIONS]
FIELDS = [("plain", *shape) for shape in ((2, 1), (3, 1), (3, 2), (4, 3))] + [(name, 4, 2) for name in SELF_ATTENTIONS]
"""Name, order, layers."""


@pytest.fixture(autouse=True, scope="module")
def _fp32_is_float64() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tensor, "float", Tensor.double)
        yield


def model_of(name: str, order: int | None, layers: int = 2) -> TranslationModel:
    return lively_variant(name, ngram=order, decoder_layers=layers).double()


def ring_inputs(now: int, capacity: int, seed: int) -> Inputs:
    """One query at `now` before a ring of random entries."""
    position = ring_positions(torch.tensor([now]), capacity)
    here = torch.tensor([[now]])
    inputs = some_inputs(ngram_keep(here, position, None), queries=1, seed=seed)
    return Inputs(inputs.x_query, inputs.x_key, inputs.keep, here, position)


@pytest.mark.parametrize(("name", "order"), ORDERS)
def test_steps_equal_teacher_forcing_after_any_number_of_wraps(name: str, order: int | None) -> None:
    model, (source, keep), target = model_of(name, order), some_source(2), some_target(2)
    torch.testing.assert_close(stepwise(model, source, keep, target), model(source, keep, target), atol=1e-9, rtol=0)


@settings(deadline=None, max_examples=12)
@given(
    name=st.sampled_from(SELF_ATTENTIONS),
    order=st.none() | st.integers(2, 12),
    starts=st.tuples(*[st.integers(0, 6)] * 3),
)
def test_rows_at_different_positions_share_a_batch(name: str, order: int | None, starts: tuple[int, ...]) -> None:
    model, (source, keep), target = model_of(name, order), some_source(3), some_target(3, 14)
    together = stepwise(model, source, keep, target, start=list(starts))
    torch.testing.assert_close(together, model(source, keep, target), atol=1e-9, rtol=0)


@pytest.mark.parametrize("order", [LENGTH + 1, LENGTH + 5])
@pytest.mark.parametrize("name", SELF_ATTENTIONS)
def test_an_order_beyond_the_length_is_full_attention(name: str, order: int) -> None:
    source, keep = some_source()
    wide, full = model_of(name, order), model_of(name, None)
    torch.testing.assert_close(wide(source, keep, some_target()), full(source, keep, some_target()))


@pytest.mark.parametrize(("name", "factor"), [(n, 2 if n == "mw" else 1) for n in SELF_ATTENTIONS])
def test_order_2_gives_each_position_its_own_value(name: str, factor: int) -> None:
    """A single visible key has weight 1; the multiplicative window's mask is 2 there; Shaw adds a vector."""
    position = torch.arange(7)[None]
    inputs = some_inputs(ngram_keep(position, position, 2), queries=7)
    module = attention_of(name, "decoder")
    value = factor * module.project_memory(inputs.x_key)[1]
    if "relative" in name:
        value = value + module.get_parameter("terms.relative.rel_v")[16]
    expected = module.output(value.transpose(1, 2).flatten(2))
    torch.testing.assert_close(inputs.run(module, True), expected, atol=1e-9, rtol=0)


@settings(deadline=None, max_examples=25)
@given(
    name=st.sampled_from(SELF_ATTENTIONS),
    now=st.integers(0, 30),
    order=st.permutations(range(7)),
    seed=st.integers(0, 9),
)
def test_slots_can_be_permuted_with_their_positions(name: str, now: int, order: list[int], seed: int) -> None:
    inputs, module = ring_inputs(now, 7, seed), attention_of(name, "decoder", seed)
    straight = inputs.run(module, ordered=False)
    torch.testing.assert_close(inputs.permuted(torch.tensor(order)).run(module, ordered=False), straight)


@pytest.mark.parametrize("garbage", [1e6, -1e6])
@pytest.mark.parametrize(("name", "now"), [*(("plain", now) for now in (0, 1, 5)), *((n, 2) for n in SELF_ATTENTIONS)])
def test_content_of_empty_slots_has_no_effect(name: str, now: int, garbage: float) -> None:
    model, (source, keep), target = model_of(name, 8), some_source(), some_target()
    cross = model.decoder.project_source(model.encode(source, keep))
    rings: list[LayerMemory] = [tuple(torch.full_like(t, garbage) for t in layer) for layer in model.empty_rings(1)]
    for step in range(now + 1):
        logits, rings = model.step(target[:, step], torch.tensor([step]), rings, cross, keep)
    torch.testing.assert_close(logits, model(source, keep, target)[:, now], atol=1e-9, rtol=0)


@pytest.mark.parametrize(("name", "order", "layers"), FIELDS)
def test_the_receptive_field_is_exactly_one_plus_layers_times_n_minus_2(name: str, order: int, layers: int) -> None:
    model, (source, keep), target = model_of(name, order, layers), some_source(), some_target(1, 9)
    base = model(source, keep, target)[0, -1]
    for distance in range(8):
        changed = target.clone()
        changed[0, 8 - distance] = 7 if target[0, 8 - distance] != 7 else 8
        differs = not torch.allclose(model(source, keep, changed)[0, -1], base, atol=1e-9)
        assert differs == (distance < 1 + layers * (order - 2))


@pytest.mark.parametrize(("name", "order"), SELF_ORDERS)
def test_a_prefix_can_be_filled_in_at_once(name: str, order: int | None) -> None:
    """The last columns of a parallel forward, put into their slots, are the ring of a stepwise one."""
    model, (source, keep), target = model_of(name, order), some_source(), some_target()
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
        torch.testing.assert_close(filled, ring, atol=1e-9, rtol=0)


@pytest.mark.parametrize("name", SELF_ATTENTIONS)
def test_reordered_rings_equal_a_recomputation_from_the_tokens(name: str) -> None:
    model, generator = model_of(name, 4), torch.Generator().manual_seed(5)
    source, keep = (tensor.expand(3, -1) for tensor in some_source(1))
    cross = model.decoder.project_source(model.encode(source, keep))
    rings, histories = model.empty_rings(3), torch.full((3, 1), BOS_ID)
    for step in range(9):
        parent = torch.randint(0, 3, (3,), generator=generator)
        rings = [tuple(buffer[parent] for buffer in layer) for layer in rings]
        histories = histories[parent]
        if step:
            histories = torch.cat([histories, torch.randint(4, 320, (3, 1), generator=generator)], dim=1)
        logits, rings = model.step(histories[:, -1], torch.full((3,), step), rings, cross, keep)
    torch.testing.assert_close(logits, model(source, keep, histories)[:, -1], atol=1e-9, rtol=0)


@pytest.mark.parametrize("name", EVERY_KIND)
def test_a_padded_batch_equals_single_sentences(name: str) -> None:
    model = model_of(name, 4)
    lengths = [3, 9, 1]
    source, keep = some_source(3, 9)
    for row, length in enumerate(lengths):
        keep[row, length:] = False
    target = some_target(3)
    together = model(source, keep, target)
    for row, length in enumerate(lengths):
        alone = model(source[row : row + 1, :length], keep[row : row + 1, :length], target[row : row + 1])
        torch.testing.assert_close(together[row : row + 1], alone, atol=1e-9, rtol=0)


def test_padding_ids_do_not_reach_any_variant() -> None:
    """What stands behind the end of a source is never read."""
    for name in VARIANTS:
        model, (source, keep) = model_of(name, 4), some_source(1, 8)
        keep[:, 5:] = False
        before = model(source, keep, some_target(1, 6))
        source[:, 5:] = PAD_ID
        after: Tensor = model(source, keep, some_target(1, 6))
        torch.testing.assert_close(after, before)

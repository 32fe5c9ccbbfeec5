"""Every variant trains: finite in half precision, finite gradients, the right optimizer for every matrix."""

import pytest
import torch

from model.attention.scaled_dot_product import split_heads
from model.data.batching import Pair, collate
from model.training.optimizer import MasterOptimizer, adam_matrices
from model.training.train import batch_loss
from model.translation_model import TranslationModel
from tests.variants import RECURRENT, VARIANTS, D, Inputs, attention_of, some_inputs, variant_config


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("name", VARIANTS)
def test_a_row_without_any_key_stays_finite_and_its_gradients_too(name: str, ordered: bool) -> None:
    module = attention_of(name)
    inputs = some_inputs(torch.zeros(2, 1, 1, 5, dtype=torch.bool))
    inputs.x_query.requires_grad_()
    inputs.x_key.requires_grad_()
    out = inputs.run(module, ordered)
    torch.testing.assert_close(out, module.output.bias.expand_as(out))
    (out * torch.randn_like(out)).sum().backward()  # type: ignore[no-untyped-call]
    for tensor in (inputs.x_query, inputs.x_key, *module.parameters()):
        assert tensor.grad is None or torch.isfinite(tensor.grad).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", VARIANTS)
def test_half_precision_stays_finite_with_many_keys_and_extreme_energies(name: str, dtype: torch.dtype) -> None:
    """Projections that hand on their input: energies reach +-10,000 in every score matrix."""
    module = attention_of(name).to(dtype)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.zero_()
        for parameter in module.parameters():
            if parameter.dim() == 2 and parameter.shape[1] == D:
                parameter[:, :] = torch.eye(D).repeat(parameter.shape[0] // D + 1, 1)[: parameter.shape[0]]
    inputs = some_inputs(torch.ones(1, 1, 1, 500, dtype=torch.bool))
    signs = torch.where(torch.arange(500) % 2 == 0, 1.0, -1.0)[None, :, None]
    loud = Inputs(
        torch.full((1, 4, D), 50.0, dtype=dtype), (50 * signs).expand(1, 500, D).to(dtype), inputs.keep,
        inputs.query_position, inputs.key_position,
    )  # fmt: skip
    largest = (split_heads(loud.x_query, 2)[0, 0, 0].float() ** 2).sum() / 4
    assert largest >= 1e4
    for ordered in (True, False):
        assert torch.isfinite(loud.run(module, ordered)).all()


@pytest.mark.parametrize("name", [*VARIANTS, *RECURRENT])
def test_it_trains_in_bf16(name: str) -> None:
    """Finite gradients for every parameter, and a loss that falls on one batch."""
    torch.manual_seed(0)
    model = TranslationModel(variant_config(name)).bfloat16().train()
    optimizer = MasterOptimizer(model, 0.0, use_muon=True)
    batch = collate([Pair([5, 6, 7, 8, 9], [15, 16, 17]), Pair([10, 11], [20, 21, 22, 23])])
    losses = []
    for _ in range(8):
        loss, nll = batch_loss(model, batch, 0.0)
        loss.backward()  # type: ignore[no-untyped-call]
        for key, parameter in model.named_parameters():
            assert parameter.grad is not None, key
            assert torch.isfinite(parameter.grad).all(), key
        optimizer.step((1e-3, 4e-3), max_norm=1.0)
        losses.append(float(nll))
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("name", VARIANTS)
def test_a_batch_with_an_empty_source_has_finite_gradients(name: str) -> None:
    torch.manual_seed(0)
    model = TranslationModel(variant_config(name))
    source, target = torch.randint(4, 320, (2, 6)), torch.randint(4, 320, (2, 5))
    keep = torch.ones_like(source, dtype=torch.bool)
    keep[1] = False
    model(source, keep, target).square().sum().backward()
    for key, parameter in model.named_parameters():
        assert parameter.grad is not None, key
        assert torch.isfinite(parameter.grad).all(), key


def test_tables_and_maps_to_heads_are_left_to_adam() -> None:
    model = TranslationModel(variant_config("gauss-query-relative"))
    narrow = {
        name
        for name, parameter in model.named_parameters()
        if parameter.dim() == 2 and (min(parameter.shape) < D or name == "embedding.weight")
    }
    assert narrow
    assert adam_matrices(model) & set(dict(model.named_parameters())) == narrow

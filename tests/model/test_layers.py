"""Embeddings whose positions are weights, as imported models have them."""

from pathlib import Path

import torch

from model.training.checkpoint import load_model, save_model
from model.training.optimizer import adam_matrices
from model.translation_model import TranslationModel
from tests.models import lively_model, tiny_config


def test_learned_positions_are_added_saved_and_loaded(tmp_path: Path) -> None:
    model = lively_model(tiny_config(positions="learned"))
    table = torch.randn(64, 32)
    assert model.embedding.positions is not None
    with torch.no_grad():
        model.embedding.positions.copy_(table)
    ids, place = torch.tensor([[5, 6, 7]]), torch.tensor([[9, 0, 63]])
    words = model.embedding.weight[ids] * 32**0.5
    torch.testing.assert_close(model.embedding(ids), words + table[:3])
    torch.testing.assert_close(model.embedding(ids, place), words + table[place])
    save_model(dict(model.named_parameters()), model.config, tmp_path)
    loaded = load_model(tmp_path).embedding.positions
    assert loaded is not None
    assert torch.equal(loaded, table)


def test_learned_positions_are_trained_by_adam() -> None:
    model = TranslationModel(tiny_config(positions="learned", source_embedding="separate"))
    assert {"embedding.positions", "source_embedding.positions"} <= adam_matrices(model)
    assert model.embedding.positions is not None
    model.embedding(torch.tensor([[5, 6, 7]])).sum().backward()
    assert model.embedding.positions.grad is not None
    assert model.embedding.positions.grad.sum(dim=1).tolist() == [32.0] * 3 + [0.0] * 61

"""Fixtures that several test folders share."""

from pathlib import Path

import pytest
import torch

from model.translation_model import TranslationModel
from tests.models import lively_model, tiny_config, write_artifact

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tiny_model() -> TranslationModel:
    return lively_model(tiny_config())


@pytest.fixture(scope="session")
def tiny_artifact(tiny_model: TranslationModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An artifact of `tiny_model` with every kind of graph (English to German by name only)."""
    return write_artifact(tiny_model, tmp_path_factory.mktemp("artifacts"))

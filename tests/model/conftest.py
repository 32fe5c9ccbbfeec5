"""A run that tests go on from."""

from pathlib import Path

import pytest

from model.training.train import train
from tests.model.runs import SAMPLE, tiny


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "straight"
    train(tiny(20), SAMPLE, folder)
    return folder

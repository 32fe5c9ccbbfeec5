"""A run that tests go on from."""

from pathlib import Path

import pytest

from model.training.train import train
from tests.build_once import build_once
from tests.model.runs import SAMPLE, tiny


@pytest.fixture(scope="session")
def trained(shared: Path) -> Path:
    return build_once(shared / "trained", lambda folder: train(tiny(20), SAMPLE, folder / "straight")) / "straight"

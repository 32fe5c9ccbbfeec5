"""The sentence model that context is trained for."""

from pathlib import Path

import pytest

from tests.models import lively_model, tiny_config, write_checkpoint


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(lively_model(tiny_config(max_length=130), seed=4), tmp_path_factory.mktemp("base"))

"""A small real vocabulary: byte fallback, so that every text has ids."""

from pathlib import Path

import pytest

from model.data.vocabulary import train_vocabulary
from server.text.base.pieces import Pieces
from tests.models import SENTENCES


@pytest.fixture(scope="session")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vocabulary") / "vocabulary.model"
    train_vocabulary(SENTENCES * 4, 320, path)
    return path


@pytest.fixture(scope="session")
def pieces(vocabulary: Path) -> Pieces:
    return Pieces(vocabulary)

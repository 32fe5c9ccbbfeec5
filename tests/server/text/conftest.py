"""A small real vocabulary: byte fallback, so that every text has ids."""

import pytest

from model.data.vocabulary import train_vocabulary
from server.text.base.pieces import Pieces
from tests.models import SENTENCES


@pytest.fixture(scope="session")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> Pieces:
    path = tmp_path_factory.mktemp("vocabulary") / "vocabulary.model"
    train_vocabulary(SENTENCES * 4, 320, path)
    return Pieces(path)

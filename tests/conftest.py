"""Fixtures that several test folders share."""

from pathlib import Path

import pytest
import torch

from model.document import DocumentModel
from model.translation_model import TranslationModel
from tests.documents import lively_document_model, write_document_artifact
from tests.models import lively_model, tiny_config, write_artifact

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tiny_model() -> TranslationModel:
    return lively_model(tiny_config())


@pytest.fixture(scope="session")
def tiny_artifact(tiny_model: TranslationModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An artifact of `tiny_model` with every kind of graph (English to German by name only)."""
    return write_artifact(tiny_model, tmp_path_factory.mktemp("artifacts"))


@pytest.fixture(scope="session")
def document_model() -> DocumentModel:
    return lively_document_model()


@pytest.fixture(scope="session")
def bilingual_model() -> DocumentModel:
    """Its context is on the decoder's side."""
    return lively_document_model(side="decoder")


@pytest.fixture(scope="session")
def document_artifacts(
    document_model: DocumentModel, bilingual_model: DocumentModel, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Artifacts of both models at fp32 and int8, by the side of their context."""
    folder = tmp_path_factory.mktemp("document-artifacts")
    return {
        "encoder": write_document_artifact(document_model, folder),
        "decoder": write_document_artifact(bilingual_model, folder, "bilingual"),
    }


@pytest.fixture(scope="session")
def document_artifact(document_artifacts: dict[str, Path]) -> Path:
    """The artifact of `document_model`."""
    return document_artifacts["encoder"]

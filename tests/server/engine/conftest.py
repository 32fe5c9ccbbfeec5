"""Backends over the tiny artifact, and a way to run sentences through an engine step by step."""

from pathlib import Path
from typing import Protocol

import pytest

from server.artifact.artifact import Artifact
from server.backends.base import Backend
from server.backends.load import UseShortlist, load_backend


class LoadBackend(Protocol):
    def __call__(self, kind: str, precision: str, shortlist: UseShortlist = "off") -> Backend: ...


@pytest.fixture(scope="session")
def load(tiny_artifact: Path) -> LoadBackend:
    """(kind, precision, shortlist) -> backend, loaded once."""
    return loader(tiny_artifact)


@pytest.fixture(scope="session")
def load_document(document_artifact: Path) -> LoadBackend:
    """The same of an artifact with context."""
    return loader(document_artifact)


@pytest.fixture(scope="session")
def load_bilingual(bilingual_artifact: Path) -> LoadBackend:
    """The same of an artifact with context on the decoder's side."""
    return loader(bilingual_artifact)


def loader(folder: Path) -> LoadBackend:
    artifact, loaded = Artifact.load(folder), dict[tuple[str, str, UseShortlist], Backend]()

    def get(kind: str, precision: str, shortlist: UseShortlist = "off") -> Backend:
        if (kind, precision, shortlist) not in loaded:
            loaded[kind, precision, shortlist] = load_backend(artifact, kind, precision, shortlist)
        return loaded[kind, precision, shortlist]

    return get

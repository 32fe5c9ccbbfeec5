"""Backends over the tiny artifact, and a way to run sentences through an engine step by step."""

from collections.abc import Callable
from pathlib import Path

import pytest

from server.artifact import Artifact
from server.backends.base import Backend
from server.backends.load import load_backend

LoadBackend = Callable[[str, str], Backend]


@pytest.fixture(scope="session")
def load(tiny_artifact: Path) -> LoadBackend:
    """(kind, precision) -> backend, loaded once."""
    artifact, loaded = Artifact.load(tiny_artifact), dict[tuple[str, str], Backend]()

    def get(kind: str, precision: str) -> Backend:
        if (kind, precision) not in loaded:
            loaded[kind, precision] = load_backend(artifact, kind, precision)
        return loaded[kind, precision]

    return get

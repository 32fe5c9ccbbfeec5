"""Every kind of store, open and empty."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from server.documents.stores.interface import ContextStore
from server.documents.stores.open_store import open_store
from tests.server.redis_server import flush


@pytest.fixture(params=["memory", "sqlite", "redis"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "redis":
        port = request.getfixturevalue("redis_port")
        flush(port)
        return f"redis://127.0.0.1:{port}/0"
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/documents.db"


@pytest.fixture
def store(store_url: str) -> Iterator[ContextStore]:
    store = open_store(store_url)
    yield store
    store.close()

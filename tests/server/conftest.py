"""Fixtures for all tests of the server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from server.stores.interface import ContextStore
from server.stores.open_store import open_store
from tests.server.redis_server import flush, running_redis


@pytest.fixture(scope="session")
def redis_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a Redis server; a test that uses it flushes it first."""
    with running_redis(tmp_path_factory.mktemp("redis")) as port:
        yield port


@pytest.fixture(params=["memory", "sqlite", "redis"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of every kind of store, empty."""
    if request.param == "redis":
        port = request.getfixturevalue("redis_port")
        flush(port)
        return f"redis://127.0.0.1:{port}/0"
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/documents.db"


@pytest.fixture
def store(store_url: str) -> Iterator[ContextStore]:
    """Every kind of store, open and empty."""
    store = open_store(store_url)
    yield store
    store.close()

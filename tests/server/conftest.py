"""What several packages of server tests share."""

from collections.abc import Iterator

import pytest

from tests.server.redis_server import running_redis


@pytest.fixture(scope="session")
def redis_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a Redis server; whoever uses it flushes it first."""
    with running_redis(tmp_path_factory.mktemp("redis")) as port:
        yield port

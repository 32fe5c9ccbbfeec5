"""A server with a key, for clients that send theirs in ways of their own."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.api_keys import new_key
from tests.server.api.conftest import RunningServer, ready, settings_for


@dataclass(frozen=True)
class Locked:
    server: RunningServer
    secret: str


@pytest.fixture(scope="package")
def locked(tiny_artifact: Path) -> Iterator[Locked]:
    secret, line = new_key("client", ["translate"])
    with ready(settings_for(tiny_artifact, api_keys=line)) as server:
        yield Locked(server, secret)

"""URLs of stores: which there are, and that no message repeats a password."""

from pathlib import Path

import pytest

from server.stores.interface import StoreError
from server.stores.memory import MemoryStore
from server.stores.open_store import UnusableURL, open_store
from tests.server.redis_server import free_port, running_redis


def test_memory_is_memory() -> None:
    assert isinstance(open_store("memory://"), MemoryStore)


@pytest.mark.parametrize(
    "url",
    [
        "", "memory:", "memory://x", "file:///a", "sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite:///a\0b",
        "sqlite://host/path", "redis://", "redis://h:port", "redis://u:secret@h:99999/0", "redis://u:secret@h/zero",
        "redis://u:secret@h/0?x=1", "postgres://u:secret@h/db", "//u:secret@h",
    ],
)  # fmt: skip
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(UnusableURL) as caught:
        open_store(url)
    assert "secret" not in str(caught.value)


def test_a_redis_that_is_not_there_is_an_error() -> None:
    port = free_port()
    with pytest.raises(StoreError, match=f"redis://127.0.0.1:{port}/0"):
        open_store(f"redis://127.0.0.1:{port}")


def test_a_redis_with_a_password(tmp_path: Path) -> None:
    with running_redis(tmp_path, "--requirepass", "pass:word/#") as port:
        for secret in ("", ":wrong-secret@"):
            with pytest.raises(StoreError) as caught:
                open_store(f"redis://{secret}127.0.0.1:{port}/0")
            assert "wrong-secret" not in str(caught.value)
        store = open_store(f"redis://:pass%3Aword%2F%23@127.0.0.1:{port}/3")
        assert store.count() == 0
        store.close()

"""API keys in stores."""

from pathlib import Path

import pytest

from server.stores.interface import ContextStore
from server.stores.keys import KeyChanged, KeysFull, KeyStore, UnknownKey
from server.stores.open_store import open_store
from tests.server.redis_server import flush


@pytest.fixture(params=["sqlite", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/documents.db"
    port = request.getfixturevalue("redis_port")
    flush(port)
    return f"redis://127.0.0.1:{port}/0"


def keys_of(store: ContextStore) -> KeyStore:
    assert store.keys is not None
    return store.keys


def test_memory_keeps_no_keys() -> None:
    assert open_store("memory://").keys is None


def test_keys_are_kept_changed_and_deleted_and_every_write_changes_the_version(url: str) -> None:
    store, other = open_store(url), open_store(url)
    keys, versions = keys_of(store), [keys_of(other).version()]

    def then(bodies: dict[str, str]) -> None:
        stored = keys_of(other).read()
        assert stored.bodies == bodies
        assert keys_of(other).version() == stored.version
        versions.append(stored.version)

    keys.put("shop", '{"a": 1}')
    then({"shop": '{"a": 1}'})
    keys.put("desk", "{}")
    then({"shop": '{"a": 1}', "desk": "{}"})
    keys.put("shop", '{"a": 2}', instead_of='{"a": 1}')
    then({"shop": '{"a": 2}', "desk": "{}"})
    keys.delete("desk")
    then({"shop": '{"a": 2}'})
    assert len(set(versions)) == len(versions)
    store.close()
    other.close()


def test_a_write_that_does_not_fit_changes_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(url)
    keys = keys_of(store)
    keys.put("shop", "1")
    before = keys.read()
    with pytest.raises(KeyChanged):
        keys.put("shop", "2")
    with pytest.raises(KeyChanged):
        keys.put("shop", "2", instead_of="0")
    with pytest.raises(UnknownKey):
        keys.put("desk", "2", instead_of="0")
    with pytest.raises(UnknownKey):
        keys.delete("desk")
    for module in ("keys", "redis_keys"):
        monkeypatch.setattr(f"server.stores.{module}.MOST_KEYS", 1)
    with pytest.raises(KeysFull, match="at most 1 API keys"):
        keys.put("desk", "2")
    assert keys.read() == before
    keys.put("shop", "2", instead_of="1")
    store.close()

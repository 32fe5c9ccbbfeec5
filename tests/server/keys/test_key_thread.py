"""Keys and usage follow the file and the store while a server runs."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from server.keys.editing import FileKeys, StoreKeys
from server.keys.key_thread import KeyThread
from server.keys.record import KeyLimits, KeyRecord, Secret, hash_of
from server.keys.ring import KeyRing
from server.keys.usage import CharacterUsage
from server.stores.interface import ContextStore, StoreError
from server.stores.open_store import open_store
from server.telemetry.metrics import Metrics
from server.telemetry.series import NO_MODEL
from tests.server.api.conftest import until
from tests.server.redis_server import free_port, redis_process

SOON = 0.01


@pytest.fixture(autouse=True)
def _logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "ringmt")  # a server in this process may have set another


def record(name: str) -> KeyRecord:
    return KeyRecord(name, frozenset({"translate"}), (Secret(hash_of(name)),))


@contextmanager
def looking(ring: KeyRing, store: ContextStore) -> Iterator[tuple[CharacterUsage, Metrics]]:
    usage, metrics = CharacterUsage(), Metrics()
    thread = KeyThread(ring, usage, store, metrics, SOON)
    thread.start()
    yield usage, metrics
    assert thread.stop(10)


def failures(metrics: Metrics, source: str) -> float:
    labels = {"source": source, "model": NO_MODEL}
    value = metrics.registry.get_sample_value("ringmt_api_key_failures_total", labels)
    assert value is not None
    return value


def test_a_changed_file_is_read_again_and_an_invalid_one_is_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "keys"
    FileKeys(file).add(record("shop"))
    ring = KeyRing.load(str(file))
    with looking(ring, open_store("memory://")) as (_, metrics):
        FileKeys(file).add(record("desk"))
        until(lambda: ring.find("desk") is not None, "the new key is accepted")
        FileKeys(file).revoke("shop")
        until(lambda: ring.find("shop") is None, "the revoked key is refused")
        for number, wrong in enumerate(["desk translat sha256:1\n", "", None], 1):
            before = file.read_text() if file.exists() else None
            if wrong is None:
                file.unlink()
            else:
                file.write_text(wrong)
                os.utime(file, ns=(number, number))
            assert before != wrong
            until(lambda number=number: failures(metrics, "file") >= number, "it is said")  # type: ignore[misc]
            assert ring.find("desk") is not None
        FileKeys(file).add(record("boss"))
        until(lambda: ring.find("boss") is not None, "a valid file counts again")
        assert ring.find("desk") is None
        FileKeys(file).revoke("boss")
        until(lambda: ring.find("boss") is None, "the last key is revoked")
        assert ring.is_required
        assert failures(metrics, "file") == 3
    assert sum("those from before are accepted" in entry.getMessage() for entry in caplog.records) == 3
    assert hash_of("desk") not in caplog.text


def test_keys_and_usage_outlive_an_outage_of_the_store(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    port = free_port()
    options = ("--appendonly", "yes", "--appendfsync", "always", "--dir", str(tmp_path))
    with ExitStack() as stack:
        with redis_process(tmp_path, port, *options):
            store = open_store(f"redis://127.0.0.1:{port}/0")
            assert store.keys is not None
            keys, ring = StoreKeys(store.keys), KeyRing.load("store")
            keys.add(record("shop"))
            usage, metrics = stack.enter_context(looking(ring, store))
            assert ring.find("shop") is not None
            usage.charge("shop", KeyLimits(), 3)
            until(lambda: store.usage.read(usage.periods) != {}, "the characters are stored")
        until(lambda: failures(metrics, "store") > 1, "the outage is counted")
        assert ring.find("shop") is not None
        usage.charge("shop", KeyLimits(), 4)
        stack.enter_context(redis_process(tmp_path, port, *options))
        until(lambda: set(_read(store, usage)) == {7}, "the characters are stored")
        keys.revoke("shop")
        until(lambda: ring.find("shop") is None, "the revoked key is refused")
        assert sum("not up to date" in entry.getMessage() for entry in caplog.records) == 1


def _read(store: ContextStore, usage: CharacterUsage) -> list[int]:
    try:
        return list(store.usage.read(usage.periods).values())
    except StoreError:
        return []


def test_what_was_counted_last_is_stored_at_the_stop(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/a.db")
    usage = CharacterUsage()
    thread = KeyThread(KeyRing(), usage, store, Metrics(), interval=3600)
    thread.start()
    usage.charge("", KeyLimits(), 5)
    assert thread.stop(10)
    assert set(store.usage.read(usage.periods).values()) == {5}


def test_a_server_without_keys_says_that_its_store_has_some(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = open_store(f"sqlite:///{tmp_path}/a.db")
    assert store.keys is not None
    StoreKeys(store.keys).add(record("shop"))
    ring = KeyRing()
    with looking(ring, store):
        assert ring.keys == ()
    assert "start with --api-keys store" in caplog.text

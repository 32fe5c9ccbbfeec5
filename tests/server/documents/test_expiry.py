"""Documents that were not changed for a long time are deleted, whatever else happens."""

import logging
import threading
from collections.abc import Collection

import pytest

from server.documents.expiry import ExpiryThread, sweep
from server.stores.interface import StoreError
from server.stores.memory import MemoryStore
from server.telemetry.metrics import Metrics
from tests.server.documents.some import SERVED, keep


def value(metrics: Metrics, name: str) -> float | None:
    return metrics.registry.get_sample_value(f"ringmt_context_store_{name}", {"model": ""})


def test_a_sweep_deletes_and_counts() -> None:
    store, metrics = MemoryStore(), Metrics()
    for name, state, touched in (("old", "done", 5.0), ("new", "done", 50.0), ("waits", "queued", 5.0)):
        keep(store, name, state=state, touched=touched)
    assert sweep(store, 10.0, 55.0, metrics, SERVED) == 1
    assert (value(metrics, "expired_total"), store.count()) == (1, 2)


class Moody(MemoryStore):
    """Fails at first."""

    def __init__(self, *errors: Exception) -> None:
        super().__init__()
        self.errors = errors
        self.calls = 0
        self.again = threading.Event()

    def expire(self, older_than: float, models: Collection[str]) -> int:
        self.calls += 1
        if self.calls <= len(self.errors):
            raise self.errors[self.calls - 1]
        self.again.set()
        return super().expire(older_than, models)


def test_a_store_that_fails_is_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "ringmt")
    not_there = StoreError("context store redis://x: not there")
    store, metrics = Moody(not_there, RuntimeError("odd"), MemoryError(), KeyError("document")), Metrics()
    keep(store, "old", state="done", touched=5.0)
    janitor = ExpiryThread(store, 10.0, metrics, interval=0.01)
    janitor.start()
    assert store.again.wait(20)
    assert janitor.stop(20)
    assert store.count() == 0
    assert "not there" in caplog.text
    assert "RuntimeError: odd" in caplog.text


@pytest.mark.parametrize(("ttl", "interval", "expected"), [(10.0, 60.0, 10.0), (600.0, 60.0, 60.0), (0.5, 60.0, 0.5)])
def test_it_sweeps_at_least_once_in_the_time_that_documents_have(ttl: float, interval: float, expected: float) -> None:
    waits: list[float | None] = []

    class Stopping(threading.Event):
        """Lets three sweeps pass, without any time."""

        def wait(self, timeout: float | None = None) -> bool:
            waits.append(timeout)
            if len(waits) == 3:
                self.set()
            return self.is_set()

    janitor = ExpiryThread(Moody(), ttl, Metrics(), interval=interval)
    janitor._stopping = Stopping()
    janitor._run()
    assert waits == [expected] * 3


def test_one_that_never_started_stops() -> None:
    assert ExpiryThread(MemoryStore(), 10.0, Metrics()).stop(1)

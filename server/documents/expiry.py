"""Deletes documents that were not changed for a long time, in a thread. Which documents have expired is the store's
decision."""

import logging
import threading
import time
from collections.abc import Collection

from server.stores.interface import ContextStore, StoreError
from server.telemetry.metrics import NO_MODEL, Metrics

logger = logging.getLogger("ringmt")

INTERVAL_SECONDS = 60.0


def sweep(store: ContextStore, document_ttl: float, now: float, metrics: Metrics, models: Collection[str]) -> int:
    """Delete documents last touched more than `document_ttl` seconds before `now` (seconds since 1970), as
    ContextStore.expire does; returns how many. Raises StoreError."""
    expired = store.expire(now - document_ttl, models)
    metrics.context_store_expired_total.labels(NO_MODEL).inc(expired)
    return expired


class ExpiryThread:
    """A thread that sweeps at once and then every `interval` until it is stopped. It logs failures and tries again."""

    def __init__(
        self,
        store: ContextStore,
        document_ttl: float,
        metrics: Metrics,
        models: Collection[str] = (),
        interval: float = INTERVAL_SECONDS,
    ) -> None:
        """`models`: names of the models that this server has. `document_ttl` and `interval` are in seconds; it sweeps
        at least once in `document_ttl`."""
        self._store = store
        self._document_ttl = document_ttl
        self._metrics = metrics
        self._models = models
        self._interval = min(interval, document_ttl)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ringmt-janitor", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout: float) -> bool:
        """End the thread, after the sweep that is under way; False when that takes more than `timeout` seconds."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                sweep(self._store, self._document_ttl, time.time(), self._metrics, self._models)
            except StoreError as error:
                logger.warning("expired documents were not deleted, trying again in %g s: %s", self._interval, error)
            except Exception:
                logger.exception("expired documents were not deleted, trying again in %g s", self._interval)
            self._stopping.wait(self._interval)

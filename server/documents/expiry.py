"""Deletes documents that were not changed for a long time, in a thread. Which documents have expired is the store's
decision."""

import logging
import time
from collections.abc import Collection

from server.runtime.periodic_thread import PeriodicThread
from server.stores.interface import ContextStore, StoreError
from server.telemetry.metrics import Metrics
from server.telemetry.series import NO_MODEL

logger = logging.getLogger("ringmt")

INTERVAL_SECONDS = 60.0


def sweep(store: ContextStore, document_ttl: float, now: float, metrics: Metrics, models: Collection[str]) -> int:
    """Delete documents last touched more than `document_ttl` seconds before `now` (seconds since 1970), as
    ContextStore.expire does; returns how many. Raises StoreError."""
    expired = store.expire(now - document_ttl, models)
    metrics.context_store_expired_total.labels(NO_MODEL).inc(expired)
    return expired


class ExpiryThread(PeriodicThread):
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
        super().__init__("ringmt-janitor", self._interval, self._sweep)

    def _sweep(self) -> None:
        try:
            sweep(self._store, self._document_ttl, time.time(), self._metrics, self._models)
        except StoreError as error:
            logger.warning("expired documents were not deleted, trying again in %g s: %s", self._interval, error)
        except Exception:
            logger.exception("expired documents were not deleted, trying again in %g s", self._interval)

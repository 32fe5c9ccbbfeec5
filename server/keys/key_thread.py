"""Keeps the keys and the usage of a server like those of its file and its store, in a thread: requests wait for
neither."""

import logging
import os
import threading

from server.keys.ring import KeyRing, read_key_file
from server.keys.stored import read_stored
from server.keys.usage import CharacterUsage
from server.runtime.periodic_thread import PeriodicThread
from server.runtime.setting_fields import SettingsError
from server.stores.interface import ContextStore, StoreError
from server.telemetry.metrics import Metrics
from server.telemetry.series import NO_MODEL

logger = logging.getLogger("ringmt")

INTERVAL_SECONDS = 1.0
"""Seconds between two readings of the file and the store. A change of a key takes effect within this time and the time
of a reading."""


class KeyThread(PeriodicThread):
    """A thread that reads keys every `interval` seconds until it is stopped, and once more then, to store the usage. It
    logs failures and tries again; until then the keys that were read last are accepted."""

    def __init__(
        self,
        ring: KeyRing,
        usage: CharacterUsage,
        store: ContextStore,
        metrics: Metrics,
        interval: float | None = None,
    ) -> None:
        """`interval`: by default INTERVAL_SECONDS."""
        self._ring, self._usage, self._store, self._metrics = ring, usage, store, metrics
        self._version: str | None = None
        self._seen = self._stat()
        self._is_failing = False
        self._reading = threading.Lock()
        seconds = INTERVAL_SECONDS if interval is None else interval
        super().__init__("ringmt-keys", seconds, self._refresh, works_at_end=True)

    def start(self) -> None:
        """Read keys and usage, then start the thread. Raises StoreError."""
        self.read_stored()
        if not self._ring.is_required and self._store.keys is not None and self._store.keys.read().bodies:
            logger.warning(
                "the store has API keys, but every client has full access: start with --api-keys store to require them"
            )
        self._usage.sync(self._store.usage)
        super().start()

    def read_stored(self) -> None:
        """Read the store's keys if they have changed. Raises StoreError."""
        keys = self._store.keys
        if keys is None or not self._ring.is_required:
            return
        with self._reading:
            if keys.version() != self._version:
                stored = keys.read()
                records = read_stored(stored)
                self._ring.replace("store", records)
                if self._version is not None:
                    logger.info("API keys of the store were read again: %d keys", len(records))
                self._version = stored.version

    def _read_file(self) -> None:
        """Read the file's keys if it has changed. Raises SettingsError if it cannot be used; then the keys stay."""
        seen = self._stat()
        if self._ring.file is not None and seen != self._seen:
            self._seen = seen
            records = read_key_file(self._ring.file, may_be_empty=True)
            self._ring.replace("file", records)
            logger.info("API keys of %s were read again: %d keys", self._ring.file, len(records))

    def _stat(self) -> tuple[int, int, int] | None:
        """Changes when the file is written or replaced."""
        if self._ring.file is None:
            return None
        try:
            stat = os.stat(self._ring.file)
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size, stat.st_ino

    def _refresh(self) -> None:
        try:
            self._read_file()
        except SettingsError as error:
            self._count_failure("file")
            logger.error("API keys were not read again, those from before are accepted: %s", error)
        try:
            self.read_stored()
            self._usage.sync(self._store.usage)
            if self._is_failing:
                self._is_failing = False
                logger.info("API keys and usage are read from the store again")
        except StoreError as error:
            self._count_failure("store")
            if not self._is_failing:
                logger.error("API keys and usage are not up to date until the store answers: %s", error)
            self._is_failing = True
        except Exception:
            self._count_failure("store")
            logger.exception("API keys and usage are not up to date")

    def _count_failure(self, source: str) -> None:
        self._metrics.api_key_failures_total.labels(source, NO_MODEL).inc()

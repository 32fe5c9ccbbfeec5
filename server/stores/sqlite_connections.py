"""Connections to a SQLite file: each is used by one transaction at a time, and kept for the next."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Literal

from server.stores.interface import StoreError
from server.stores.sqlite_schema import migrate

BUSY_SECONDS = 10.0
"""How long a write waits for another process's."""


class SqliteConnections:
    """Safe to use from any thread. One connection stays open until `close`."""

    def __init__(self, path: Path, busy_seconds: float) -> None:
        """Raises StoreError for a file that cannot be opened, is no database or is another application's."""
        self._path = path
        self._busy_seconds = busy_seconds
        self._writing = threading.Lock()
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._is_closed = False
        with self._errors():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            connection = self._connect()
            try:
                migrate(connection, busy_seconds)
                connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            except BaseException:
                connection.close()
                raise
            # Other connections are closed after errors. When the last connection is closed, SQLite deletes the index of
            # its log, for which a full disk has no space when the next connection reads.
            self._always_open = connection

    def close(self) -> None:
        """A call that is under way in another thread still finishes."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in (*idle, self._always_open):
            connection.close()

    @contextmanager
    def _transaction(self, kind: Literal["DEFERRED", "IMMEDIATE"]) -> Iterator[sqlite3.Connection]:
        """A connection that is used by one transaction only, which is committed at the end and rolled back on any
        error."""
        with self._errors(), self._writing if kind == "IMMEDIATE" else nullcontext():
            connection = self._acquire()
            try:
                connection.execute(f"BEGIN {kind}")
                yield connection
                connection.execute("COMMIT")
            except BaseException as error:
                with suppress(sqlite3.Error):
                    connection.rollback()
                if isinstance(error, sqlite3.Error):
                    connection.close()
                    raise
                self._release(connection)
                raise
            self._release(connection)

    def _acquire(self) -> sqlite3.Connection:
        with self._lock:
            if self._is_closed:
                raise StoreError("it was closed")
            if self._idle:
                return self._idle.pop()
        return self._connect()

    def _release(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            if not self._is_closed:
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=self._busy_seconds, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise the errors of SQLite and the file system as StoreError, with the file's name."""
        try:
            yield
        except (sqlite3.Error, OSError, StoreError) as error:
            reason = str(error)
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
                reason = f"another process kept it locked for {self._busy_seconds:g} s"
            elif isinstance(error, OSError):
                reason = f"{error.strerror}: the folder must exist and the file be writable"
            raise StoreError(f"context store sqlite:///{self._path}: {reason}") from error

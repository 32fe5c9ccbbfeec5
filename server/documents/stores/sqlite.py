"""Documents in one SQLite file, which several processes of the same machine may share."""

import dataclasses
import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Literal

from server.documents.stores import refusals
from server.documents.stores.codec import decode_document, decode_sentence, encode
from server.documents.stores.interface import StoreError
from server.documents.stores.records import Document, Sentence
from server.documents.stores.sqlite_glossaries import SqliteGlossaries
from server.documents.stores.sqlite_schema import migrate

BUSY_SECONDS = 10.0
"""How long a write waits for another process's."""
EXPIRE_BATCH = 100
"""Documents deleted in one transaction, so that writers wait little."""


class SqliteStore:
    """A ContextStore in a SQLite file. A write that returned survives the end of the process, kill -9 included; a
    power failure may take the last ones (synchronous NORMAL) but never breaks the file. The file is made readable for
    its owner only, its folder must exist and be on a local disk. Leases are in the machine's time; `clock` gives
    seconds since 1970.
    """

    def __init__(self, path: Path, busy_seconds: float = BUSY_SECONDS, clock: Callable[[], float] = time.time) -> None:
        """Raises StoreError for a file that cannot be opened, is no database or is another application's."""
        self._path = path
        self._busy_seconds = busy_seconds
        self._clock = clock
        self._writing = threading.Lock()
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._is_closed = False
        self.glossaries = SqliteGlossaries(self._transaction)
        with self._errors():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            connection = self._connect()
            try:
                migrate(connection, busy_seconds)
            except BaseException:
                connection.close()
                raise
            self._give_back(connection)

    def create(self, document: Document, sentences: Sequence[Sentence], at_most: int | None = None) -> None:
        ordered = refusals.check_new(document, sentences)
        with self._transaction("IMMEDIATE") as connection:
            if connection.execute("SELECT 1 FROM documents WHERE id = ?", (document.id,)).fetchone():
                raise refusals.taken(document.id)
            if at_most is not None and _count(connection) >= at_most:
                raise refusals.full(at_most)
            connection.execute(
                "INSERT INTO documents (version, state, model, created, touched, num_sentences, body, id) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                _columns(document),
            )
            _write(connection, document.id, ordered)

    def document(self, document_id: str) -> Document:
        refusals.check_id(document_id)
        with self._transaction("DEFERRED") as connection:
            return _document(connection, document_id)

    def sentences(self, document_id: str, start: int = 0, end: int | None = None) -> list[Sentence]:
        refusals.check_range(start, end)
        refusals.check_id(document_id)
        with self._transaction("DEFERRED") as connection:
            count = _find(connection, document_id)[1]
            bodies = _bodies(connection, document_id, start, count if end is None else min(end, count))
        return [decode_sentence(body) for body in bodies]

    def read(self, document_id: str) -> tuple[Document, list[Sentence]]:
        refusals.check_id(document_id)
        with self._transaction("DEFERRED") as connection:
            document = _document(connection, document_id)
            bodies = _bodies(connection, document_id, 0, document.num_sentences)
        return document, [decode_sentence(body) for body in bodies]

    def update(self, document: Document, expected_version: int, sentences: Sequence[Sentence] = ()) -> None:
        ordered = refusals.check_update(document, expected_version, sentences)
        with self._transaction("IMMEDIATE") as connection:
            version, count = _find(connection, document.id)
            if version != expected_version:
                raise refusals.changed(document.id, expected_version, version)
            refusals.check_fit(document, count, ordered)
            connection.execute(
                "UPDATE documents SET version = ?, state = ?, model = ?, created = ?, touched = ?, num_sentences = ?, "
                "body = ? WHERE id = ?",
                _columns(document),
            )
            if document.state != "running":
                connection.execute("UPDATE documents SET worker = NULL, leased_until = 0 WHERE id = ?", (document.id,))
            _write(connection, document.id, ordered)

    def delete(self, document_id: str) -> None:
        refusals.check_id(document_id)
        with self._transaction("IMMEDIATE") as connection:
            if connection.execute("DELETE FROM documents WHERE id = ?", (document_id,)).rowcount == 0:
                raise refusals.unknown(document_id)

    def claim(self, worker: str, lease_seconds: float, models: Collection[str]) -> Document | None:
        refusals.check_lease(lease_seconds)
        with self._transaction("IMMEDIATE") as connection:
            now = self._clock()
            row = connection.execute(
                "SELECT id, body, version FROM documents WHERE state IN ('queued', 'running') "
                "AND NOT (leased_until > ? AND leased_until <= ?) "
                "AND model IN (SELECT value FROM json_each(?)) ORDER BY created, id LIMIT 1",
                (now, refusals.latest_end(now, lease_seconds), json.dumps(sorted(models))),
            ).fetchone()
            if row is None:
                return None
            connection.execute(
                "UPDATE documents SET state = 'running', version = version + 1, worker = ?, leased_until = ? "
                "WHERE id = ?",
                (worker, now + lease_seconds, row[0]),
            )
        return dataclasses.replace(decode_document(row[1]), state="running", version=row[2] + 1)

    def renew(self, document_id: str, worker: str, lease_seconds: float) -> bool:
        refusals.check_lease(lease_seconds)
        refusals.check_id(document_id)
        with self._transaction("IMMEDIATE") as connection:
            _find(connection, document_id)
            renewed = connection.execute(
                "UPDATE documents SET leased_until = ? WHERE id = ? AND worker = ?",
                (self._clock() + lease_seconds, document_id, worker),
            )
            return renewed.rowcount == 1

    def expire(self, older_than: float, models: Collection[str]) -> int:
        total, served = 0, json.dumps(sorted(models))
        while True:
            with self._transaction("IMMEDIATE") as connection:
                deleted = connection.execute(
                    "DELETE FROM documents WHERE id IN (SELECT id FROM documents WHERE touched < ? "
                    "AND (state NOT IN ('queued', 'running') OR (leased_until <= ? "
                    "AND model NOT IN (SELECT value FROM json_each(?)))) LIMIT ?)",
                    (older_than, self._clock(), served, EXPIRE_BATCH),
                ).rowcount
            total += deleted
            if deleted < EXPIRE_BATCH:
                return total

    def count(self) -> int:
        with self._transaction("DEFERRED") as connection:
            return _count(connection)

    def close(self) -> None:
        """A call that is under way in another thread still finishes."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextmanager
    def _transaction(self, kind: Literal["DEFERRED", "IMMEDIATE"]) -> Iterator[sqlite3.Connection]:
        """A connection of one's own for one transaction: committed at the end, rolled back on any error."""
        with self._errors(), self._writing if kind == "IMMEDIATE" else nullcontext():
            connection = self._take()
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
                self._give_back(connection)
                raise
            self._give_back(connection)

    def _take(self) -> sqlite3.Connection:
        with self._lock:
            if self._is_closed:
                raise StoreError("it was closed")
            if self._idle:
                return self._idle.pop()
        return self._connect()

    def _give_back(self, connection: sqlite3.Connection) -> None:
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


def _columns(document: Document) -> tuple[int, str, str, float, float, int, str, str]:
    """Version, state, model, created, touched, number of sentences, body, id: in the order of INSERT and UPDATE."""
    return (
        document.version,
        document.state,
        document.model,
        document.created,
        document.touched,
        document.num_sentences,
        encode(document),
        document.id,
    )


def _document(connection: sqlite3.Connection, document_id: str) -> Document:
    """Raises UnknownDocument."""
    row = connection.execute("SELECT body, state, version FROM documents WHERE id = ?", (document_id,)).fetchone()
    if row is None:
        raise refusals.unknown(document_id)
    return dataclasses.replace(decode_document(row[0]), state=row[1], version=row[2])


def _bodies(connection: sqlite3.Connection, document_id: str, start: int, end: int) -> list[str]:
    rows = connection.execute(
        "SELECT body FROM sentences WHERE document_id = ? AND position >= ? AND position < ? ORDER BY position",
        (document_id, start, end),
    )
    return [body for (body,) in rows]


def _find(connection: sqlite3.Connection, document_id: str) -> tuple[int, int]:
    """Version and number of sentences. Raises UnknownDocument."""
    row = connection.execute("SELECT version, num_sentences FROM documents WHERE id = ?", (document_id,)).fetchone()
    if row is None:
        raise refusals.unknown(document_id)
    return int(row[0]), int(row[1])


def _count(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM documents").fetchone()[0])


def _write(connection: sqlite3.Connection, document_id: str, sentences: Sequence[Sentence]) -> None:
    connection.executemany(
        "INSERT INTO sentences (document_id, position, body) VALUES (?, ?, ?) "
        "ON CONFLICT (document_id, position) DO UPDATE SET body = excluded.body",
        [(document_id, sentence.index, encode(sentence)) for sentence in sentences],
    )

"""API keys and counted characters in the SQLite file of the documents."""

import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Literal

from server.stores.keys import StoredKeys, UnknownKey, check_kept, check_number_of_keys
from server.stores.usage import BATCH_SECONDS, Counter

Transaction = Callable[[Literal["DEFERRED", "IMMEDIATE"]], AbstractContextManager[sqlite3.Connection]]


NEW_VERSION = "UPDATE api_keys_version SET version = lower(hex(randomblob(16)))"


class SqliteKeys:
    """A KeyStore. `transaction` is that of the store that it belongs to."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def version(self) -> str:
        with self._transaction("DEFERRED") as connection:
            return _version(connection)

    def read(self) -> StoredKeys:
        with self._transaction("DEFERRED") as connection:
            bodies = connection.execute("SELECT name, body FROM api_keys ORDER BY name").fetchall()
            return StoredKeys(_version(connection), dict(bodies))

    def put(self, name: str, body: str, instead_of: str | None = None) -> None:
        with self._transaction("IMMEDIATE") as connection:
            row = connection.execute("SELECT body FROM api_keys WHERE name = ?", (name,)).fetchone()
            check_kept(None if row is None else row[0], instead_of)
            if row is None:
                check_number_of_keys(connection.execute("SELECT count(*) FROM api_keys").fetchone()[0])
            connection.execute("INSERT OR REPLACE INTO api_keys (name, body) VALUES (?, ?)", (name, body))
            connection.execute(NEW_VERSION)

    def delete(self, name: str) -> None:
        with self._transaction("IMMEDIATE") as connection:
            if connection.execute("DELETE FROM api_keys WHERE name = ?", (name,)).rowcount == 0:
                raise UnknownKey
            connection.execute(NEW_VERSION)


def _version(connection: sqlite3.Connection) -> str:
    return str(connection.execute("SELECT version FROM api_keys_version").fetchone()[0])


class SqliteUsage:
    """A UsageStore. `transaction` is that of the store that it belongs to."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def add(self, writer: str, batch: int, counts: Mapping[Counter, int]) -> None:
        with self._transaction("IMMEDIATE") as connection:
            is_new = connection.execute(
                "INSERT INTO key_usage_batches (writer, batch, written) VALUES (?, ?, ?) ON CONFLICT (writer) "
                "DO UPDATE SET batch = excluded.batch, written = excluded.written WHERE batch < excluded.batch",
                (writer, batch, time.time()),
            ).rowcount
            if is_new:
                connection.execute("UPDATE key_usage_version SET version = ?", (f"{writer} {batch}",))
                connection.executemany(
                    "INSERT INTO key_usage (owner, period, characters) VALUES (?1, ?2, max(0, ?3)) "
                    "ON CONFLICT (owner, period) DO UPDATE SET characters = max(0, characters + ?3)",
                    [(counter.owner, counter.period, number) for counter, number in counts.items()],
                )

    def version(self) -> str:
        with self._transaction("DEFERRED") as connection:
            return str(connection.execute("SELECT version FROM key_usage_version").fetchone()[0])

    def read(self, periods: tuple[str, ...]) -> dict[Counter, int]:
        with self._transaction("DEFERRED") as connection:
            rows = connection.execute(
                "SELECT owner, period, characters FROM key_usage "
                f"WHERE characters > 0 AND period IN ({', '.join('?' * len(periods))})",
                periods,
            ).fetchall()
        return {Counter(owner, period): number for owner, period, number in rows}

    def forget(self, before_day: str, before_month: str) -> None:
        with self._transaction("IMMEDIATE") as connection:
            for before in (before_day, before_month):
                connection.execute(
                    "DELETE FROM key_usage WHERE period < ? AND length(period) = ?", (before, len(before))
                )
            connection.execute("DELETE FROM key_usage_batches WHERE written < ?", (time.time() - BATCH_SECONDS,))

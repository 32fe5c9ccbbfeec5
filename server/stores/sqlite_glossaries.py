"""Glossaries in the SQLite file of the documents."""

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Literal

from server.stores.glossaries import GlossaryLimits, UnknownGlossary, check_kept

Transaction = Callable[[Literal["DEFERRED", "IMMEDIATE"]], AbstractContextManager[sqlite3.Connection]]


class SqliteGlossaries:
    """A GlossaryStore. `transaction` is that of the store that they belong to."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def put(
        self, owner: str, glossary_id: str, body: str, limits: GlossaryLimits, instead_of: str | None = None
    ) -> None:
        with self._transaction("IMMEDIATE") as connection:
            check_kept(_body(connection, owner, glossary_id), instead_of)
            number, size = connection.execute(
                "SELECT count(*), coalesce(sum(size), 0) FROM glossaries WHERE owner = ? AND id != ?",
                (owner, glossary_id),
            ).fetchone()
            limits.check(number + 1, size + len(body))
            connection.execute(
                "INSERT INTO glossaries (owner, id, size, body) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (owner, id) DO UPDATE SET size = excluded.size, body = excluded.body",
                (owner, glossary_id, len(body), body),
            )

    def get(self, owner: str, glossary_id: str) -> str:
        with self._transaction("DEFERRED") as connection:
            body = _body(connection, owner, glossary_id)
        if body is None:
            raise UnknownGlossary
        return body

    def version(self, owner: str, glossary_id: str) -> str:
        with self._transaction("DEFERRED") as connection:
            row = connection.execute(
                "SELECT version FROM glossary_versions WHERE owner = ? AND id = ?", (owner, glossary_id)
            ).fetchone()
        if row is None:
            raise UnknownGlossary
        return str(row[0])

    def of_owner(self, owner: str) -> Mapping[str, str]:
        with self._transaction("DEFERRED") as connection:
            return dict(connection.execute("SELECT id, body FROM glossaries WHERE owner = ?", (owner,)).fetchall())

    def delete(self, owner: str, glossary_id: str) -> None:
        with self._transaction("IMMEDIATE") as connection:
            result = connection.execute("DELETE FROM glossaries WHERE owner = ? AND id = ?", (owner, glossary_id))
            if result.rowcount == 0:
                raise UnknownGlossary

    def page(self, limit: int, after: str = "") -> list[tuple[str, str]]:
        with self._transaction("DEFERRED") as connection:
            return connection.execute(
                "SELECT id, owner FROM glossaries WHERE id > ? ORDER BY id, owner LIMIT ?", (after, limit)
            ).fetchall()

    def owner_of(self, glossary_id: str) -> str:
        with self._transaction("DEFERRED") as connection:
            row = connection.execute(
                "SELECT owner FROM glossaries WHERE id = ? ORDER BY owner LIMIT 1", (glossary_id,)
            ).fetchone()
        if row is None:
            raise UnknownGlossary
        return str(row[0])


def _body(connection: sqlite3.Connection, owner: str, glossary_id: str) -> str | None:
    row = connection.execute("SELECT body FROM glossaries WHERE owner = ? AND id = ?", (owner, glossary_id)).fetchone()
    return None if row is None else str(row[0])

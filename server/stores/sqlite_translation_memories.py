"""Translation memories in the SQLite file of the documents."""

import sqlite3
import uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Literal

from server.stores.translation_memories import (
    Generations,
    Kept,
    KeptEntry,
    KeptMemory,
    MemoryLimits,
    MemoryTaken,
    UnknownEntry,
    UnknownMemory,
    after_deletion,
    check_number,
)

Transaction = Callable[[Literal["DEFERRED", "IMMEDIATE"]], AbstractContextManager[sqlite3.Connection]]


class SqliteTranslationMemories:
    """A TranslationMemoryStore. `transaction` is that of the store that they belong to."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def create(self, owner: str, memory_id: str, head: str, limits: MemoryLimits) -> None:
        with self._transaction("IMMEDIATE") as connection:
            if _row(connection, owner, memory_id) is not None:
                raise MemoryTaken
            _check(connection, owner, limits, Kept(1, 0, len(head)))
            connection.execute(
                "INSERT INTO translation_memories (owner, id, head, generation, last, entries, size) "
                "VALUES (?, ?, ?, ?, 0, 0, ?)",
                (owner, memory_id, head, uuid.uuid4().hex, len(head)),
            )

    def find(self, owner: str, memory_id: str) -> KeptMemory:
        with self._transaction("DEFERRED") as connection:
            return _find(connection, owner, memory_id)[1]

    def of_owner(self, owner: str) -> Mapping[str, KeptMemory]:
        with self._transaction("DEFERRED") as connection:
            rows = connection.execute(
                "SELECT id, head, generation, last, entries, size FROM translation_memories WHERE owner = ?", (owner,)
            ).fetchall()
        return {memory_id: KeptMemory(*values) for memory_id, *values in rows}

    def delete(self, owner: str, memory_id: str) -> None:
        with self._transaction("IMMEDIATE") as connection:
            place, _ = _find(connection, owner, memory_id)
            connection.execute("DELETE FROM translation_memory_entries WHERE memory = ?", (place,))
            connection.execute("DELETE FROM translation_memories WHERE place = ?", (place,))

    def put(self, owner: str, memory_id: str, bodies: Mapping[str, str], limits: MemoryLimits) -> int:
        check_number(bodies)
        with self._transaction("IMMEDIATE") as connection:
            place, memory = _find(connection, owner, memory_id)
            sizes = [
                row[0]
                for entry_id in bodies
                for row in connection.execute(
                    "SELECT length(body) FROM translation_memory_entries WHERE memory = ? AND id = ?", (place, entry_id)
                )
            ]
            number, more = len(bodies) - len(sizes), sum(map(len, bodies.values())) - sum(sizes)
            _check(connection, owner, limits, Kept(0, number, more))
            connection.executemany(
                "INSERT INTO translation_memory_entries (memory, id, number, body) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (memory, id) DO UPDATE SET number = excluded.number, body = excluded.body",
                [
                    (place, entry_id, memory.last + at, body)
                    for at, (entry_id, body) in enumerate(bodies.items(), start=1)
                ],
            )
            connection.execute(
                "UPDATE translation_memories SET last = last + ?, entries = entries + ?, size = size + ? "
                "WHERE place = ?",
                (len(bodies), number, more, place),
            )
            return number

    def remove(self, owner: str, memory_id: str, entry_id: str) -> Generations:
        with self._transaction("IMMEDIATE") as connection:
            place, memory = _find(connection, owner, memory_id)
            row = connection.execute(
                "DELETE FROM translation_memory_entries WHERE memory = ? AND id = ? RETURNING length(body)",
                (place, entry_id),
            ).fetchall()
            if not row:
                raise UnknownEntry
            after = after_deletion(memory.generation, entry_id)
            connection.execute(
                "UPDATE translation_memories SET generation = ?, entries = entries - 1, size = size - ? "
                "WHERE place = ?",
                (after, row[0][0], place),
            )
            return Generations(memory.generation, after)

    def entries(self, owner: str, memory_id: str, after: int, limit: int) -> list[KeptEntry]:
        with self._transaction("DEFERRED") as connection:
            place, _ = _find(connection, owner, memory_id)
            rows = connection.execute(
                "SELECT id, number, body FROM translation_memory_entries WHERE memory = ? AND number > ? "
                "ORDER BY number LIMIT ?",
                (place, after, limit),
            ).fetchall()
        return [KeptEntry(*row) for row in rows]


def _row(connection: sqlite3.Connection, owner: str, memory_id: str) -> tuple[int, KeptMemory] | None:
    row = connection.execute(
        "SELECT place, head, generation, last, entries, size FROM translation_memories WHERE owner = ? AND id = ?",
        (owner, memory_id),
    ).fetchone()
    return None if row is None else (row[0], KeptMemory(*row[1:]))


def _find(connection: sqlite3.Connection, owner: str, memory_id: str) -> tuple[int, KeptMemory]:
    row = _row(connection, owner, memory_id)
    if row is None:
        raise UnknownMemory
    return row


def _check(connection: sqlite3.Connection, owner: str, limits: MemoryLimits, more: Kept) -> None:
    """Raises MemoriesFull. A write that adds nothing is always possible."""
    if more.memories > 0 or more.entries > 0 or more.num_bytes > 0:
        usage = connection.execute(
            "SELECT count(*), coalesce(sum(entries), 0), coalesce(sum(size), 0) FROM translation_memories "
            "WHERE owner = ?",
            (owner,),
        ).fetchone()
        [size] = connection.execute("SELECT size FROM translation_memories_total").fetchone()
        limits.check(Kept(*map(sum, zip(usage, more, strict=True))), size + more.num_bytes)

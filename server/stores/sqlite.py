"""Documents in one SQLite file, which several processes of one machine may share. Its tables are in
sqlite_schema.py, its statements in sqlite_queries.py."""

import json
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from server.stores import sqlite_queries as queries
from server.stores import validation
from server.stores.codec import decode_sentence, encode
from server.stores.fair_order import next_candidate, tags_after
from server.stores.interface import ChangePlace, Changes, Cursor
from server.stores.limits import NO_LIMITS, DocumentLimits, charge_of
from server.stores.records import Document, Sentence
from server.stores.sqlite_connections import BUSY_SECONDS, SqliteConnections
from server.stores.sqlite_glossaries import SqliteGlossaries
from server.stores.sqlite_keys import SqliteKeys, SqliteUsage
from server.stores.sqlite_translation_memories import SqliteTranslationMemories
from server.telemetry.labels import OPEN_STATES, DocumentState

EXPIRE_BATCH = 100
"""Documents deleted in one transaction, so that writers wait little."""


class SqliteStore(SqliteConnections):
    """A ContextStore in a SQLite file. A write that returned survives the end of the process, kill -9 included; a
    power failure may take the last ones (synchronous NORMAL) but never breaks the file. The file is made readable for
    its owner only, its folder must exist and be on a local disk. Leases are in the machine's time; `clock` gives
    seconds since 1970.
    """

    def __init__(self, path: Path, busy_seconds: float = BUSY_SECONDS, clock: Callable[[], float] = time.time) -> None:
        """Raises StoreError for a file that cannot be opened, is no database or is another application's."""
        super().__init__(path, busy_seconds)
        self._clock = clock
        self.glossaries = SqliteGlossaries(self._transaction)
        self.translation_memories = SqliteTranslationMemories(self._transaction)
        self.keys, self.usage = SqliteKeys(self._transaction), SqliteUsage(self._transaction)

    def create(self, document: Document, sentences: Sequence[Sentence], limits: DocumentLimits = NO_LIMITS) -> None:
        ordered = validation.check_new(document, sentences)
        body, rows = encode(document), queries.rows(document.id, ordered)
        size = queries.size(body, rows)
        limits.check_alone(charge_of(size, document.state))
        with self._transaction("IMMEDIATE") as connection:
            if connection.execute("SELECT 1 FROM documents WHERE id = ?", (document.id,)).fetchone():
                raise validation.taken(document.id)
            usage = queries.usage(connection, document.owner), queries.usage(connection)
            bound = limits.reached(*usage, charge_of(size, document.state), document.state in OPEN_STATES)
            if bound is not None:
                raise queries.full(connection, limits, bound, document.owner)
            connection.execute(
                "INSERT INTO documents (version, state, model, created, touched, num_sentences, size, charge, body, "
                "id, owner) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*queries.columns(document, size, body), document.owner),
            )
            queries.write(connection, rows, document.version)

    def document(self, document_id: str) -> Document:
        validation.check_id(document_id)
        with self._transaction("DEFERRED") as connection:
            return queries.document(connection, document_id)

    def sentences(self, document_id: str, start: int = 0, end: int | None = None) -> list[Sentence]:
        validation.check_range(start, end)
        validation.check_id(document_id)
        with self._transaction("DEFERRED") as connection:
            count = queries.find(connection, document_id)[1]
            bodies = queries.bodies(connection, document_id, start, count if end is None else min(end, count))
        return [decode_sentence(body) for body in bodies]

    def read(self, document_id: str, start: int = 0, end: int | None = None) -> tuple[Document, list[Sentence]]:
        validation.check_range(start, end)
        validation.check_id(document_id)
        with self._transaction("DEFERRED") as connection:
            document = queries.document(connection, document_id)
            count = document.num_sentences
            bodies = queries.bodies(connection, document_id, start, count if end is None else min(end, count))
        return document, [decode_sentence(body) for body in bodies]

    def update(
        self,
        document: Document,
        expected_version: int,
        sentences: Sequence[Sentence] = (),
        limits: DocumentLimits = NO_LIMITS,
    ) -> None:
        ordered = validation.check_update(document, expected_version, sentences)
        body, rows = encode(document), queries.rows(document.id, ordered)
        with self._transaction("IMMEDIATE") as connection:
            version, count = queries.find(connection, document.id)
            if version != expected_version:
                raise validation.changed(document.id, expected_version, version)
            validation.check_fit(document, count, ordered)
            owner, old_size, replaced = connection.execute(
                "SELECT owner, size, length(body) + (SELECT coalesce(sum(length(body)), 0) FROM sentences "
                "WHERE document_id = documents.id AND position IN (SELECT value FROM json_each(?))) "
                "FROM documents WHERE id = ?",
                (json.dumps([sentence.index for sentence in ordered]), document.id),
            ).fetchone()
            size = old_size - replaced + queries.size(body, rows)
            if limits is not NO_LIMITS:
                bound = limits.outgrown(queries.usage(connection, owner), queries.usage(connection), old_size, size)
                if bound is not None:
                    raise queries.full(connection, limits, bound, owner)
            connection.execute(
                "UPDATE documents SET version = ?, state = ?, model = ?, created = ?, touched = ?, num_sentences = ?, "
                "size = ?, charge = ?, body = ? WHERE id = ?",
                queries.columns(document, size, body),
            )
            if document.state != "running":
                connection.execute("UPDATE documents SET worker = NULL, leased_until = 0 WHERE id = ?", (document.id,))
            queries.write(connection, rows, document.version)

    def delete(self, document_id: str) -> None:
        validation.check_id(document_id)
        with self._transaction("IMMEDIATE") as connection:
            if connection.execute("DELETE FROM documents WHERE id = ?", (document_id,)).rowcount == 0:
                raise validation.unknown(document_id)

    def claim(self, worker: str, lease_seconds: float, models: Collection[str]) -> Document | None:
        validation.check_lease(lease_seconds)
        with self._transaction("IMMEDIATE") as connection:
            now = self._clock()
            candidates = queries.candidates(connection, models, now, validation.latest_end(now, lease_seconds))
            if not candidates:
                return None
            tags = dict(connection.execute("SELECT owner, tag FROM turns").fetchall())
            [began] = connection.execute("SELECT tag FROM last_turn").fetchone()
            chosen = next_candidate(candidates, tags, began)
            assert chosen is not None
            began, tag = tags_after(chosen, tags, began)
            connection.execute("UPDATE last_turn SET tag = ?", (began,))
            connection.execute("DELETE FROM turns WHERE tag <= ?", (began,))
            connection.execute("INSERT OR REPLACE INTO turns (owner, tag) VALUES (?, ?)", (chosen.owner, tag))
            connection.execute(
                "UPDATE documents SET state = 'running', version = version + 1, worker = ?, leased_until = ? "
                "WHERE id = ?",
                (worker, now + lease_seconds, chosen.document_id),
            )
            return queries.document(connection, chosen.document_id)

    def renew(self, document_id: str, worker: str, lease_seconds: float) -> bool:
        validation.check_lease(lease_seconds)
        validation.check_id(document_id)
        with self._transaction("IMMEDIATE") as connection:
            queries.find(connection, document_id)
            renewed = connection.execute(
                "UPDATE documents SET leased_until = ? WHERE id = ? AND worker = ?",
                (self._clock() + lease_seconds, document_id, worker),
            )
            return renewed.rowcount == 1

    def expire(self, older_than: float, models: Collection[str]) -> int:
        total = self._delete_while(
            "state NOT IN ('queued', 'running') AND touched < ?",
            older_than,
        )
        with self._transaction("DEFERRED") as connection:
            waited_for = connection.execute("SELECT DISTINCT model FROM usage WHERE open > 0").fetchall()
        for (model,) in waited_for:
            if model not in models:
                total += self._delete_while(
                    "state IN ('queued', 'running') AND model = ? AND touched < ? AND leased_until <= ?",
                    model,
                    older_than,
                    self._clock(),
                )
        return total

    def count(self) -> int:
        with self._transaction("DEFERRED") as connection:
            return queries.usage(connection).documents

    def page(
        self, owner: str | None, limit: int, after: Cursor | None = None, state: DocumentState | None = None
    ) -> list[Document]:
        validation.check_page(limit)
        with self._transaction("DEFERRED") as connection:
            return queries.page(connection, owner, limit, after, state)

    def versions(self, document_ids: Collection[str]) -> dict[str, int]:
        with self._transaction("DEFERRED") as connection:
            rows = connection.execute(
                "SELECT id, version FROM documents WHERE id IN (SELECT value FROM json_each(?))",
                (json.dumps(list(document_ids)),),
            )
            return dict(rows.fetchall())

    def changes(self, document_id: str, after: ChangePlace, limit: int) -> Changes:
        validation.check_changes(limit)
        validation.check_id(document_id)
        with self._transaction("DEFERRED") as connection:
            document = queries.document(connection, document_id)
            sentences = queries.changes(connection, document_id, after, limit + 1)
        return Changes(document, sentences[:limit], len(sentences) <= limit)

    def rename_owner(self, former: str, owner: str) -> None:
        if former == owner:
            return
        with self._transaction("IMMEDIATE") as connection:
            connection.execute("UPDATE documents SET owner = ? WHERE owner = ?", (owner, former))
            connection.execute("UPDATE OR IGNORE glossaries SET owner = ? WHERE owner = ?", (owner, former))

    def _delete_while(self, condition: str, *values: object) -> int:
        """Delete the documents for which `condition` holds, EXPIRE_BATCH in a transaction; returns how many."""
        total = 0
        while True:
            with self._transaction("IMMEDIATE") as connection:
                deleted = connection.execute(
                    f"DELETE FROM documents WHERE id IN (SELECT id FROM documents WHERE {condition} LIMIT ?)",
                    (*values, EXPIRE_BATCH),
                ).rowcount
            total += deleted
            if deleted < EXPIRE_BATCH:
                return total

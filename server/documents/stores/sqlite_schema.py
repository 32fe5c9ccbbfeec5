"""The tables of a SQLite store, and how a file of an older version is brought to the newest. A file's version is its
`user_version`."""

import sqlite3
import threading
import time
from collections.abc import Callable

from server.documents.stores.interface import StoreError
from server.documents.stores.old_format import model_of, upgraded_document, upgraded_sentence

APPLICATION_ID = 0x524D5431
"""'RMT1' in SQLite's header: the file is RingMT's."""


def _parts_become_records(connection: sqlite3.Connection) -> None:
    for document_id, body in connection.execute("SELECT id, body FROM documents").fetchall():
        rows = connection.execute(
            "SELECT position, body FROM sentences WHERE document_id = ? ORDER BY position", (document_id,)
        ).fetchall()
        upgraded = [(upgraded_sentence(text), document_id, position) for position, text in rows]
        connection.executemany("UPDATE sentences SET body = ? WHERE document_id = ? AND position = ?", upgraded)
        connection.execute(
            "UPDATE documents SET body = ?, model = ? WHERE id = ?",
            (upgraded_document(body, [one[0] for one in upgraded]), model_of(body), document_id),
        )


Step = str | Callable[[sqlite3.Connection], None]
MIGRATIONS: tuple[tuple[Step, ...], ...] = (
    (
        """CREATE TABLE documents (
            id TEXT PRIMARY KEY,
            version INTEGER NOT NULL,
            state TEXT NOT NULL,
            created REAL NOT NULL,
            touched REAL NOT NULL,
            worker TEXT,
            leased_until REAL NOT NULL DEFAULT 0,
            num_sentences INTEGER NOT NULL,
            body TEXT NOT NULL
        ) WITHOUT ROWID""",
        "CREATE INDEX open_documents ON documents (created, id) WHERE state IN ('queued', 'running')",
        "CREATE INDEX touched_documents ON documents (touched)",
        """CREATE TABLE sentences (
            document_id TEXT NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
            position INTEGER NOT NULL,
            body TEXT NOT NULL,
            PRIMARY KEY (document_id, position)
        ) WITHOUT ROWID""",
        f"PRAGMA application_id = {APPLICATION_ID}",
    ),
    ("ALTER TABLE documents ADD COLUMN model TEXT NOT NULL DEFAULT ''", _parts_become_records),
    (
        """CREATE TABLE glossaries (
            owner TEXT NOT NULL,
            id TEXT NOT NULL,
            size INTEGER NOT NULL,
            body TEXT NOT NULL,
            PRIMARY KEY (owner, id)
        )""",
    ),
)
"""One entry of statements and functions per version; entries are only ever added."""

RETRY_SECONDS = 0.01


def migrate(connection: sqlite3.Connection, busy_seconds: float) -> None:
    """Bring a file to the newest version; several processes may try at the same time. Raises StoreError for a file
    that is another application's or a newer RingMT's, sqlite3.Error for one that cannot be read or written."""
    _write_ahead(connection, busy_seconds)
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _pragma(connection, "user_version")
        _check_owner(connection, version)
        for steps in MIGRATIONS[version:]:
            for step in steps:
                if isinstance(step, str):
                    connection.execute(step)
                else:
                    step(connection)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _check_owner(connection: sqlite3.Connection, version: int) -> None:
    is_empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if not (version == 0 and is_empty) and _pragma(connection, "application_id") != APPLICATION_ID:
        raise StoreError("the file is another application's database: name another file")
    if version > len(MIGRATIONS):
        raise StoreError(
            f"the file's version is {version}, this RingMT knows up to {len(MIGRATIONS)}: update RingMT or name "
            "another file"
        )


def _write_ahead(connection: sqlite3.Connection, busy_seconds: float) -> None:
    """Switch the file to WAL. SQLite answers "locked" at once, not after the busy timeout, when another process
    switches it at the same moment."""
    deadline = time.monotonic() + busy_seconds
    pause = threading.Event()
    while True:
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            pause.wait(RETRY_SECONDS)
            continue
        if mode != "wal":
            raise StoreError(f"the file cannot be used by several processes (journal mode {mode}): is its disk local?")
        return


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])

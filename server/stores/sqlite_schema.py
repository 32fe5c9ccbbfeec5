"""The tables of a SQLite store, and the migrations of files that older versions wrote: `user_version` 1 is RingMT 0.1,
3 is 0.2 to 0.4 (see old_format.py)."""

import sqlite3
import threading
import time
from collections.abc import Callable

from server.stores.interface import StoreError
from server.stores.limits import charge_of
from server.stores.old_format import former_owner, model_of, upgraded_document, upgraded_sentence

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
            (upgraded_document(body, [sentence for sentence, *_ in upgraded]), model_of(body), document_id),
        )


def _documents_get_owners(connection: sqlite3.Connection) -> None:
    """Runs before the triggers that count what owners have are created."""
    for (document_id,) in connection.execute("SELECT id FROM documents").fetchall():
        connection.execute("UPDATE documents SET owner = ? WHERE id = ?", (former_owner(document_id), document_id))
    connection.execute(
        "UPDATE documents SET size = length(body) + "
        "(SELECT coalesce(sum(length(body)), 0) FROM sentences WHERE document_id = documents.id)"
    )
    for document_id, size, state in connection.execute("SELECT id, size, state FROM documents").fetchall():
        connection.execute("UPDATE documents SET charge = ? WHERE id = ?", (charge_of(size, state), document_id))
    connection.execute(
        "INSERT INTO usage (owner, model, documents, queued, open, charge) SELECT owner, model, count(*), "
        "sum(state = 'queued'), sum(state IN ('queued', 'running')), sum(charge) FROM documents GROUP BY owner, model"
    )


_COUNT_NEW = """
    INSERT INTO usage (owner, model, documents, queued, open, charge)
    VALUES (NEW.owner, NEW.model, 1, NEW.state = 'queued', NEW.state IN ('queued', 'running'), NEW.charge)
    ON CONFLICT (owner, model) DO UPDATE SET documents = documents + 1, queued = queued + excluded.queued,
        open = open + excluded.open, charge = charge + excluded.charge;
"""
_COUNT_OLD = """
    UPDATE usage SET documents = documents - 1, queued = queued - (OLD.state = 'queued'),
        open = open - (OLD.state IN ('queued', 'running')), charge = charge - OLD.charge
    WHERE owner = OLD.owner AND model = OLD.model;
    DELETE FROM usage WHERE owner = OLD.owner AND model = OLD.model AND documents = 0;
"""

_IS_OPEN = "({0}.state IN ('queued', 'running'))"
_TOTAL_MORE = f"documents = documents + 1, open = open + {_IS_OPEN.format('NEW')}, charge = charge + NEW.charge"
_TOTAL_LESS = f"documents = documents - 1, open = open - {_IS_OPEN.format('OLD')}, charge = charge - OLD.charge"
_TOTAL_CHANGED = (
    f"open = open - {_IS_OPEN.format('OLD')} + {_IS_OPEN.format('NEW')}, charge = charge - OLD.charge + NEW.charge"
)

_NEW_VERSION = "lower(hex(randomblob(16)))"
_KEEP_VERSION = f"INSERT INTO glossary_versions VALUES (NEW.owner, NEW.id, {_NEW_VERSION});"
_DROP_VERSION = "DELETE FROM glossary_versions WHERE owner = OLD.owner AND id = OLD.id;"

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
    (
        "ALTER TABLE documents ADD COLUMN owner TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE documents ADD COLUMN size INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE documents ADD COLUMN charge INTEGER NOT NULL DEFAULT 0",
        # What is kept, by owner and model; triggers keep it right whatever writes.
        """CREATE TABLE usage (
            owner TEXT NOT NULL,
            model TEXT NOT NULL,
            documents INTEGER NOT NULL,
            queued INTEGER NOT NULL,
            open INTEGER NOT NULL,
            charge INTEGER NOT NULL,
            PRIMARY KEY (owner, model)
        ) WITHOUT ROWID""",
        _documents_get_owners,
        f"CREATE TRIGGER count_new AFTER INSERT ON documents BEGIN {_COUNT_NEW} END",
        f"CREATE TRIGGER count_old AFTER DELETE ON documents BEGIN {_COUNT_OLD} END",
        f"CREATE TRIGGER count_changed AFTER UPDATE OF owner, model, state, charge ON documents "
        f"BEGIN {_COUNT_OLD} {_COUNT_NEW} END",
        # The tags of owners (see fair_order.py).
        "CREATE TABLE turns (owner TEXT PRIMARY KEY, tag INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE TABLE last_turn (tag INTEGER NOT NULL)",
        "INSERT INTO last_turn VALUES (0)",
        "DROP INDEX open_documents",
        "DROP INDEX touched_documents",
        "CREATE INDEX queued_documents ON documents (model, owner, created, id) WHERE state = 'queued'",
        "CREATE INDEX running_documents ON documents (model, leased_until) WHERE state = 'running'",
        "CREATE INDEX open_documents ON documents (model, touched) WHERE state IN ('queued', 'running')",
        "CREATE INDEX resting_documents ON documents (touched) WHERE state NOT IN ('queued', 'running')",
        "CREATE INDEX own_resting_documents ON documents (owner, touched) WHERE state NOT IN ('queued', 'running')",
        "CREATE INDEX documents_by_creation ON documents (created, id)",
        "CREATE INDEX own_documents_by_creation ON documents (owner, created, id)",
        "UPDATE glossaries SET owner = 'former:' || owner WHERE owner != ''",
        "CREATE INDEX glossaries_by_id ON glossaries (id, owner)",
    ),
    (
        # In a table of its own, because a row's columns after a large body are slow to read.
        """CREATE TABLE glossary_versions (
            owner TEXT NOT NULL,
            id TEXT NOT NULL,
            version TEXT NOT NULL,
            PRIMARY KEY (owner, id)
        ) WITHOUT ROWID""",
        f"INSERT INTO glossary_versions SELECT owner, id, {_NEW_VERSION} FROM glossaries",
        f"CREATE TRIGGER version_new AFTER INSERT ON glossaries BEGIN {_KEEP_VERSION} END",
        f"CREATE TRIGGER version_old AFTER DELETE ON glossaries BEGIN {_DROP_VERSION} END",
        f"CREATE TRIGGER version_changed AFTER UPDATE ON glossaries BEGIN {_DROP_VERSION} {_KEEP_VERSION} END",
    ),
    (
        "CREATE TABLE api_keys (name TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID",
        "CREATE TABLE api_keys_version (version TEXT NOT NULL)",
        f"INSERT INTO api_keys_version VALUES ({_NEW_VERSION})",
        # Characters of texts that were accepted, by the name of a key.
        """CREATE TABLE key_usage (
            owner TEXT NOT NULL,
            period TEXT NOT NULL,
            characters INTEGER NOT NULL,
            PRIMARY KEY (period, owner)
        ) WITHOUT ROWID""",
        "CREATE TABLE key_usage_version (version TEXT NOT NULL)",
        "INSERT INTO key_usage_version VALUES ('')",
        "CREATE TABLE key_usage_batches (writer TEXT PRIMARY KEY, batch INTEGER NOT NULL, written REAL NOT NULL) "
        "WITHOUT ROWID",
    ),
    (
        # The version of the document that wrote a sentence last (see interface.ChangePlace).
        "ALTER TABLE sentences ADD COLUMN changed INTEGER NOT NULL DEFAULT 0",
        "CREATE INDEX changed_sentences ON sentences (document_id, changed, position)",
        "CREATE INDEX documents_by_state ON documents (state, created, id)",
        "CREATE INDEX own_documents_by_state ON documents (owner, state, created, id)",
        "CREATE INDEX waiting_owners ON usage (model, owner) WHERE queued > 0",
        "CREATE INDEX open_models ON usage (model) WHERE open > 0",
        # One row: the sums of `usage`.
        "CREATE TABLE totals (documents INTEGER NOT NULL, open INTEGER NOT NULL, charge INTEGER NOT NULL)",
        "INSERT INTO totals SELECT coalesce(sum(documents), 0), coalesce(sum(open), 0), coalesce(sum(charge), 0) "
        "FROM usage",
        f"CREATE TRIGGER total_new AFTER INSERT ON documents BEGIN UPDATE totals SET {_TOTAL_MORE}; END",
        f"CREATE TRIGGER total_old AFTER DELETE ON documents BEGIN UPDATE totals SET {_TOTAL_LESS}; END",
        f"CREATE TRIGGER total_changed AFTER UPDATE OF state, charge ON documents BEGIN UPDATE totals SET "
        f"{_TOTAL_CHANGED}; END",
    ),
    (
        """CREATE TABLE translation_memories (
            place INTEGER PRIMARY KEY,
            owner TEXT NOT NULL,
            id TEXT NOT NULL,
            head TEXT NOT NULL,
            generation TEXT NOT NULL,
            last INTEGER NOT NULL,
            entries INTEGER NOT NULL,
            size INTEGER NOT NULL,
            UNIQUE (owner, id)
        )""",
        # `memory` is the place of a memory, `number` that of the write (see translation_memories.KeptEntry).
        """CREATE TABLE translation_memory_entries (
            memory INTEGER NOT NULL,
            id TEXT NOT NULL,
            number INTEGER NOT NULL,
            body TEXT NOT NULL,
            UNIQUE (memory, id)
        )""",
        "CREATE INDEX translation_memory_entries_by_number ON translation_memory_entries (memory, number)",
        # One row: the bytes of all memories.
        "CREATE TABLE translation_memories_total (size INTEGER NOT NULL)",
        "INSERT INTO translation_memories_total VALUES (0)",
        "CREATE TRIGGER memory_total_new AFTER INSERT ON translation_memories BEGIN "
        "UPDATE translation_memories_total SET size = size + NEW.size; END",
        "CREATE TRIGGER memory_total_old AFTER DELETE ON translation_memories BEGIN "
        "UPDATE translation_memories_total SET size = size - OLD.size; END",
        "CREATE TRIGGER memory_total_changed AFTER UPDATE OF size ON translation_memories BEGIN "
        "UPDATE translation_memories_total SET size = size - OLD.size + NEW.size; END",
    ),
)
"""One entry of statements and functions per version; entries are only ever added."""

RETRY_SECONDS = 0.01


def migrate(connection: sqlite3.Connection, busy_seconds: float) -> None:
    """Migrate a file to the newest version; several processes may try at the same time. Raises StoreError for a file
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

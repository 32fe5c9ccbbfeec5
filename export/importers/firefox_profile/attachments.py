"""The downloaded files of Remote Settings in a profile of Firefox.

Firefox keeps them in the IndexedDB database "remote-settings" of its own origin: a SQLite file, and beside it a folder
with the contents as they were downloaded (services/settings/IDBHelpers.sys.mjs and Database.sys.mjs, dom/indexedDB). Of
the store "attachments" a row's `key` has the collection and the record's id, `data` the record as a structured clone
packed by Snappy, `file_ids` the names of its files. The database is copied before it is opened: a profile is never
written to, and a running Firefox locks it.
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from export.importers import ImportRefused
from export.importers.firefox_profile.snappy import SnappyError, decompress
from export.importers.firefox_profile.structured_clone import Blob, CloneError, Value, read_clone

DATABASE = Path("storage/permanent/chrome/idb/3870112724rsegmnoittet-es.sqlite")
"""In a profile. IndexedDB makes the name of "remote-settings"."""
COLLECTIONS = "main/translations-models"
"""What their names begin with: today's ends in -v2."""
ROWS = (
    "SELECT file_ids, data FROM object_data JOIN object_store ON object_store.id = object_store_id "
    "WHERE name = 'attachments' AND key >= ? AND key < ? ORDER BY key"
)
MAX_RECORD_BYTES = 2**20


@dataclass(frozen=True)
class Attachment:
    """A record, and the file that was downloaded for it."""

    record: dict[str, Value]
    file: Path


def is_profile(path: Path) -> bool:
    return (path / DATABASE).is_file()


def attachments(profile: Path) -> list[Attachment]:
    """Those of translation models, whose files are there. Raises ImportRefused for a database that is none of
    Firefox's."""
    database = profile / DATABASE
    prefix = b"\x80" + bytes(byte + 1 for byte in COLLECTIONS.encode("ascii"))  # dom/indexedDB/Key.cpp
    try:
        with tempfile.TemporaryDirectory() as scratch:
            for part in (database, database.with_name(f"{database.name}-wal")):
                if part.is_file():
                    shutil.copyfile(part, Path(scratch) / part.name)
            with closing(sqlite3.connect(Path(scratch) / database.name)) as connection:
                rows = connection.execute(ROWS, (prefix, prefix + b"\xff")).fetchall()
    except (OSError, sqlite3.Error) as error:
        raise ImportRefused(f"{database} cannot be read: {error}") from error
    return list(_of_rows(rows, database))


def _of_rows(rows: list[tuple[object, object]], database: Path) -> Iterator[Attachment]:
    for file_ids, data in rows:
        if not isinstance(file_ids, str) or not isinstance(data, bytes):
            continue  # a row without file, or one so long that a file has its record: none of a model's
        try:
            value = read_clone(decompress(data, MAX_RECORD_BYTES))
        except (SnappyError, CloneError) as error:
            raise ImportRefused(f"{database} has a row that cannot be read: {error}") from error
        attachment = value.get("attachment") if isinstance(value, dict) else None
        if not isinstance(attachment, dict):
            continue
        record, blob, names = attachment.get("record"), attachment.get("blob"), file_ids.split(" ")
        if isinstance(record, dict) and isinstance(blob, Blob) and blob.index < len(names):
            name = names[blob.index]
            file = database.with_suffix(".files") / name
            if name.isdecimal() and file.is_file():
                yield Attachment(record, file)

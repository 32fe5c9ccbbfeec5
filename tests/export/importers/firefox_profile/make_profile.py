"""Writes a profile as Firefox keeps downloaded models in it: the tables of dom/indexedDB/DBSchema.cpp, the stores of
services/settings/IDBHelpers.sys.mjs, the values that Database.sys.mjs and Attachments.sys.mjs put into them."""

import hashlib
import sqlite3
import struct
import subprocess
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from export.importers.firefox_profile import structured_clone as clone
from export.importers.firefox_profile.attachments import DATABASE

TABLES = """
CREATE TABLE database (name TEXT PRIMARY KEY, origin TEXT NOT NULL, version INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE object_store (id INTEGER PRIMARY KEY, auto_increment INTEGER NOT NULL DEFAULT 0, name TEXT NOT NULL,
    key_path TEXT);
CREATE TABLE object_data (object_store_id INTEGER NOT NULL, key BLOB NOT NULL, index_data_values BLOB DEFAULT NULL,
    file_ids TEXT, data BLOB NOT NULL, PRIMARY KEY (object_store_id, key)) WITHOUT ROWID;
CREATE TABLE file (id INTEGER PRIMARY KEY, refcount INTEGER NOT NULL);
INSERT INTO database (name, origin, version) VALUES ('remote-settings', 'chrome', 48);
INSERT INTO object_store (id, name, key_path) VALUES (1, 'records', ',_cid,id'), (2, 'timestamps', 'cid'),
    (3, 'collections', 'cid'), (4, 'attachments', ',cid,attachmentId');
"""
INSERT = "INSERT INTO object_data (object_store_id, key, file_ids, data) VALUES (?, ?, ?, ?)"
FIRST, SECOND = "main/translations-models", "main/translations-models-v2"


@dataclass(frozen=True)
class Download:
    """A file of a model, in the first collection as it is, in the second packed by Zstandard."""

    collection: str
    name: str
    kind: str
    content: bytes
    languages: tuple[str, str] = ("en", "de")
    version: str = "1.0"
    more: Mapping[str, Any] | None = None

    def stored(self, folder: Path) -> tuple[dict[str, Any], bytes]:
        """The record, and the file as it was downloaded."""
        packed, name, names = self.content, self.name, ("fromLang", "toLang")
        record: dict[str, Any] = {}
        if self.collection == SECOND:
            (folder / "unpacked").write_bytes(self.content)
            packed = subprocess.run(["zstd", "-qc", folder / "unpacked"], check=True, capture_output=True).stdout
            (folder / "unpacked").unlink()
            name, names = f"{name}.zst", ("sourceLanguage", "targetLanguage")
            record = {
                "architecture": "tiny",
                "decompressedHash": hashlib.sha256(self.content).hexdigest(),
                "decompressedSize": len(self.content),
            }
        record |= {
            "id": f"id of {self.name}", "name": self.name, "schema": 1749570042331.0, "version": self.version,
            "fileType": self.kind, names[0]: self.languages[0], names[1]: self.languages[1], "filter_expression": "",
            "attachment": {
                "hash": hashlib.sha256(packed).hexdigest(), "size": len(packed), "filename": name,
                "location": f"main-workspace/{name}", "mimetype": "application/octet-stream",
            },
            "last_modified": 1749570511392.0, **(self.more or {}),
        }  # fmt: skip
        return record, packed


def write_profile(profile: Path, downloads: list[Download]) -> Path:
    database = profile / DATABASE
    files = database.with_suffix(".files")
    files.mkdir(parents=True)
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript(TABLES)
        for number, download in enumerate(downloads, 7):
            record, content = download.stored(files)
            (files / str(number)).write_bytes(content)
            connection.execute("INSERT INTO file VALUES (?, 1)", (number,))
            identity = f"{record['id']} {number}"
            value = {
                "cid": download.collection, "attachmentId": identity,
                "attachment": {"record": record, "blob": clone.Blob(0, len(content))},
            }  # fmt: skip
            place = key(download.collection, identity)
            connection.execute(INSERT, (4, place, str(number), snappy(cloned(value))))
            connection.execute(INSERT, (1, place, None, snappy(cloned({**record, "_cid": download.collection}))))
        other = snappy(cloned({"cid": "main/icons", "attachmentId": "x", "attachment": {"record": {}}}))
        connection.execute("INSERT INTO object_data VALUES (4, ?, NULL, NULL, ?)", (key("main/icons", "x"), other))
        connection.commit()
    return profile


def key(*texts: str) -> bytes:
    """An array of ASCII texts (dom/indexedDB/Key.cpp): 0x30 begins a text, 0x50 is added for an array's first item,
    each character is one higher, and zeros at the end are dropped."""
    parts = [b"\x30" + bytes(byte + 1 for byte in text.encode("ascii")) + b"\0" for text in texts]
    whole = bytearray(b"".join(parts))
    whole[0] += 0x50
    return bytes(whole).rstrip(b"\0")


def cloned(value: object) -> bytes:
    """A structured clone, with the header of one that is stored."""
    return struct.pack("<II", 2, clone.HEADER) + _value(value)


def _value(value: object) -> bytes:
    match value:
        case None:
            return struct.pack("<II", 0, clone.NULL)
        case bool():
            return struct.pack("<II", value, clone.BOOLEAN)
        case int():
            return struct.pack("<iI", value, clone.INT32)
        case float():
            return struct.pack("<d", value)
        case str():
            return _text(value)
        case clone.Blob(index, size):
            return struct.pack("<II", index, clone.BLOB) + struct.pack("<QII", size, 0, 0)
        case list():
            items = b"".join(struct.pack("<II", index, clone.INT32) + _value(item) for index, item in enumerate(value))
            return struct.pack("<II", len(value), clone.ARRAY) + items + struct.pack("<II", 0, clone.END_OF_KEYS)
        case dict():
            fields = b"".join(_text(name) + _value(item) for name, item in value.items())
            return struct.pack("<II", 0, clone.OBJECT) + fields + struct.pack("<II", 0, clone.END_OF_KEYS)
        case _:
            raise TypeError(type(value))


def _text(text: str) -> bytes:
    is_latin1 = all(ord(character) < 256 for character in text)
    data = text.encode("latin-1" if is_latin1 else "utf-16-le")
    length = len(data) | clone.LATIN1 if is_latin1 else len(data) // 2
    return struct.pack("<II", length, clone.STRING) + data + bytes(-len(data) % 8)


def snappy(data: bytes) -> bytes:
    """A block of literals, which is valid and saves nothing."""
    out, left = bytearray(), len(data)
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    for start in range(0, len(data), 256):
        part = data[start : start + 256]
        out += bytes([60 << 2, len(part) - 1]) + part
    return bytes(out)

"""Adding, revoking, rotating and limiting keys, in a store or in a file."""

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from server.keys.lines import lines_of
from server.keys.record import KeyRecord, hash_of, new_secret
from server.keys.ring import read_key_file
from server.keys.stored import decode, encode, read_stored
from server.runtime.folder_sync import sync_folder
from server.stores.keys import KeyChanged, KeyStore, UnknownKey

ATTEMPTS = 10
"""Writes of one change, when others change the same key meanwhile."""
NO_KEYS = "# No keys: every request is refused."
"""In a file whose last key was revoked; an empty file is taken for one that is being written."""


class NameTaken(ValueError):
    """There is a key of that name."""


class NoSuchKey(ValueError):
    """There is no key of that name."""


class EditableKeys(Protocol):
    """A place that lists keys. Methods raise StoreError, OSError or SettingsError if it cannot be read or written."""

    def records(self) -> list[KeyRecord]: ...

    def add(self, record: KeyRecord) -> None:
        """Raises NameTaken, KeysFull."""
        ...

    def change(self, name: str, changed: Callable[[KeyRecord], KeyRecord]) -> KeyRecord:
        """Put what `changed` returns in place of a key. Raises NoSuchKey."""
        ...

    def revoke(self, name: str) -> None:
        """Raises NoSuchKey."""
        ...


def rotate(keys: EditableKeys, name: str, now: float, keep_seconds: float) -> tuple[str, KeyRecord]:
    """A new secret of a key; the others are accepted for `keep_seconds` more. Raises NoSuchKey."""
    secret = new_secret()
    return secret, keys.change(name, lambda key: key.rotated(hash_of(secret), now, keep_seconds))


def limit(keys: EditableKeys, name: str, changes: Mapping[str, float | None]) -> KeyRecord:
    """Other limits of a key; None: no limit. Limits that `changes` does not name stay. Raises NoSuchKey."""
    return keys.change(name, lambda key: replace(key, limits=replace(key.limits, **changes)))  # type: ignore[arg-type]


class StoreKeys:
    """Keys in a store."""

    def __init__(self, store: KeyStore) -> None:
        self._store = store

    def records(self) -> list[KeyRecord]:
        return read_stored(self._store.read())

    def add(self, record: KeyRecord) -> None:
        try:
            self._store.put(record.name, encode(record))
        except KeyChanged:
            raise NameTaken(f"there is a key '{record.name}' already: rotate it, or revoke it first") from None

    def change(self, name: str, changed: Callable[[KeyRecord], KeyRecord]) -> KeyRecord:
        for _ in range(ATTEMPTS):
            body = self._store.read().bodies.get(name)
            if body is None:
                break
            record = changed(decode(name, body))
            with contextlib.suppress(KeyChanged, UnknownKey):
                self._store.put(name, encode(record), instead_of=body)
                return record
        raise _unknown(name)

    def revoke(self, name: str) -> None:
        try:
            self._store.delete(name)
        except UnknownKey:
            raise _unknown(name) from None


class FileKeys:
    """Keys in a file of lines. Comments and other keys' lines stay. A reader sees the file before or after a change,
    never half of it, and of two changes at the same time none is lost."""

    def __init__(self, file: Path) -> None:
        self._file = file.resolve()

    def records(self) -> list[KeyRecord]:
        return read_key_file(self._file, may_be_empty=True) if self._text else []

    def add(self, record: KeyRecord) -> None:
        with self._locked():
            if any(key.name == record.name for key in self.records()):
                raise NameTaken(f"{self._file} has a key '{record.name}' already: rotate it, or revoke it first")
            lines = [line for line in self._text.splitlines() if line != NO_KEYS]
            self._write([*lines, *lines_of(record)])

    def change(self, name: str, changed: Callable[[KeyRecord], KeyRecord]) -> KeyRecord:
        with self._locked():
            record = next((key for key in self.records() if key.name == name), None)
            if record is None:
                raise _unknown(name)
            record = changed(record)
            self._write([*self._lines_without(name), *lines_of(record)])
            return record

    def revoke(self, name: str) -> None:
        with self._locked():
            if all(key.name != name for key in self.records()):
                raise _unknown(name)
            lines = self._lines_without(name)
            has_keys = any(line.strip() and not line.strip().startswith("#") for line in lines)
            self._write(lines if has_keys else [*lines, NO_KEYS])

    @property
    def _text(self) -> str:
        return self._file.read_text(encoding="utf-8") if self._file.exists() else ""

    def _lines_without(self, name: str) -> list[str]:
        return [line for line in self._text.splitlines() if line.split()[:1] != [name]]

    def _write(self, lines: list[str]) -> None:
        mode = self._file.stat().st_mode & 0o777 if self._file.exists() else 0o600
        handle, path = tempfile.mkstemp(dir=self._file.parent, prefix=f".{self._file.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as new:
                new.write("".join(f"{line}\n" for line in lines))
                new.flush()
                os.fsync(new.fileno())
            os.chmod(path, mode)
            os.replace(path, self._file)
        except BaseException:
            os.unlink(path)
            raise
        sync_folder(self._file.parent)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            import fcntl
        except ImportError:  # Windows
            yield
            return
        folder = os.open(self._file.parent, os.O_RDONLY)  # the file itself is replaced
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)


def _unknown(name: str) -> NoSuchKey:
    return NoSuchKey(f"there is no key '{name}' here")

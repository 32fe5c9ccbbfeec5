"""The interface of stores of API keys, which are kept beside the documents, under the same URL. Keys are texts (JSON in
ASCII, see server.keys.stored) by their names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

MOST_KEYS: Final = 10_000
"""Keys in one store."""


class UnknownKey(LookupError):
    """There is no key of that name."""


class KeyChanged(RuntimeError):
    """The key is not what it was when it was read; read it again."""


class KeysFull(RuntimeError):
    """The store has MOST_KEYS keys."""


@dataclass(frozen=True)
class StoredKeys:
    """All keys at one moment: bodies by name. `version` is that of `KeyStore.version`."""

    version: str
    bodies: Mapping[str, str]


class KeyStore(Protocol):
    """Keeps keys until they are deleted. Each write happens whole or not at all. Safe to call from several threads and
    processes. All methods raise StoreError."""

    def version(self) -> str:
        """A text that is different after each write; cheap, because every server reads it every second."""
        ...

    def read(self) -> StoredKeys: ...

    def put(self, name: str, body: str, instead_of: str | None = None) -> None:
        """Keep a new key, or one in place of what is `instead_of`. Raises KeyChanged when something else is kept there,
        UnknownKey when nothing is that should be replaced, and KeysFull."""
        ...

    def delete(self, name: str) -> None:
        """Raises UnknownKey."""
        ...


def check_kept(kept: str | None, instead_of: str | None) -> None:
    """Raises KeyChanged or UnknownKey when what is kept is not what a write expects."""
    if kept is None and instead_of is not None:
        raise UnknownKey
    if kept != instead_of:
        raise KeyChanged


def check_number_of_keys(number: int) -> None:
    """Raises KeysFull for a new key beside `number` others."""
    if number >= MOST_KEYS:
        raise KeysFull(f"a store has at most {MOST_KEYS} API keys: revoke some")

"""API keys for tests."""

from collections.abc import Iterable

from server.keys.lines import lines_of
from server.keys.record import KeyRecord, Scope, Secret, hash_of, new_secret


def new_key(name: str, scopes: Iterable[Scope]) -> tuple[str, str]:
    """A new secret, and its line for the list of keys."""
    secret = new_secret()
    [line] = lines_of(KeyRecord(name, frozenset(scopes), (Secret(hash_of(secret)),)))
    return secret, line

"""Opens the store that the setting `context_store` names by its URL."""

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final
from urllib.parse import unquote, urlsplit

from server.stores.interface import ContextStore, StoreError
from server.stores.memory import MemoryStore
from server.stores.old_format import FORMER
from server.stores.sqlite import SqliteStore

FORMS: Final = "memory://, sqlite:///PATH (sqlite:////PATH from the root) or redis://[USER:PASSWORD@]HOST[:PORT][/DB]"


class UnusableURL(StoreError, ValueError):
    """A URL of no known form; the message lists the forms and never repeats a password."""


def open_store(url: str, former_owners: Mapping[str, str] = MappingProxyType({})) -> ContextStore:
    """Open `memory://`, `sqlite:///PATH` or `redis://HOST:PORT/DB`; user and password in percent encoding.
    `former_owners` maps the hashes of keys that were owners up to RingMT 0.4 to the names of keys: documents and
    glossaries of a hash become those of the name.

    Raises UnusableURL for another form and StoreError when the store cannot be opened.
    """
    store = _opened(url)
    try:
        for former, owner in former_owners.items():
            store.rename_owner(FORMER + former, owner)
    except BaseException:
        store.close()
        raise
    return store


def _opened(url: str) -> ContextStore:
    if url == "memory://":
        return MemoryStore()
    scheme = re.match(r"([a-z][a-z0-9+.-]*)://", url)
    if scheme is not None and scheme[1] == "sqlite":
        return SqliteStore(_sqlite_path(url))
    if scheme is not None and scheme[1] == "redis":
        return _open_redis(url)
    # The rest of the URL may be a password.
    problem = f"begins with {scheme[0]}" if scheme is not None else "has no scheme"
    raise UnusableURL(f"context_store {problem}: write {FORMS}")


def _sqlite_path(url: str) -> Path:
    path = url.removeprefix("sqlite:///")
    if not path or path == url or path == ":memory:" or "\0" in path:
        raise UnusableURL("context_store sqlite:// needs a file: write sqlite:///PATH, or memory:// for no file")
    return Path(path)


def _open_redis(url: str) -> ContextStore:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:  # Its message may quote the password.
        host, port = None, None
    database = re.fullmatch(r"/?(\d*)", parts.path, flags=re.ASCII) if host else None
    if host is None or database is None or parts.query or parts.fragment:
        raise UnusableURL(
            "context_store redis:// cannot be read: write redis://[USER:PASSWORD@]HOST[:PORT][/DB], with a number for "
            "DB and percent encoding for '/', ':', '@', '?' and '#' in the password"
        )
    try:
        from server.stores.redis import RedisStore
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("redis"):
            raise
        raise StoreError("context_store redis:// needs the redis package: pip install ringmt[redis]") from None
    return RedisStore(
        host,
        6379 if port is None else port,
        int(database[1] or 0),
        None if not parts.username else unquote(parts.username),
        None if parts.password is None else unquote(parts.password),
    )

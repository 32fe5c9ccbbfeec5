"""API keys: which requests they allow, how many at a time and how many a second.

A key is a random secret that its owner keeps. The server has only its SHA-256 (32 random bytes cannot be guessed, so a
slow hash would protect no better), compares in constant time, and writes neither key nor hash to logs, metrics or
errors. Keys are listed one per line: `NAME SCOPES sha256:HASH [concurrency=N] [rate=N]`. Lines of one name are several
secrets of one key, as long as one is exchanged for another: what is kept belongs to the name, and the limits hold for
all of its secrets together.
"""

import hashlib
import hmac
import math
import re
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, get_args

from server.settings import SettingsError, nearest

Scope = Literal["translate", "documents", "admin"]
"""`admin`: everything, including the documents of all keys."""
SCOPES: tuple[Scope, ...] = get_args(Scope)
_LINE = re.compile(
    r"(?P<name>[A-Za-z0-9_.-]+)\s+(?P<scopes>[a-z,]+)\s+sha256:(?P<hash>[0-9a-f]{64})(?P<limits>(\s+\S+)*)"
)


class LimitReached(Exception):
    """The key has too many requests at a time, or per second. `seconds` until the next attempt, at least 1."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = max(1, math.ceil(seconds))


@dataclass
class Key:
    """`hashes` of its secrets, each of which is accepted. `concurrency`: requests at the same time; `rate`: requests
    per second, twice as many in a burst. None: no limit."""

    name: str
    scopes: frozenset[Scope]
    hashes: tuple[str, ...]
    concurrency: int | None = None
    rate: float | None = None
    clock: Callable[[], float] = time.monotonic
    in_work: int = 0
    _tokens: float = field(init=False)
    _filled: float = field(init=False)

    def __post_init__(self) -> None:
        self._tokens, self._filled = self.burst, self.clock()

    @property
    def burst(self) -> float:
        return max(1.0, 2 * (self.rate or 0.0))

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes or "admin" in self.scopes

    @property
    def is_admin(self) -> bool:
        return "admin" in self.scopes

    @property
    def owner(self) -> str:
        """The owner of the key's documents and glossaries, which does not change with its secrets."""
        return self.name

    @property
    def former_owners(self) -> tuple[str, ...]:
        """Names of its owner in older versions, which were made of the secrets."""
        return tuple(hashlib.sha256(f"owner {key_hash}".encode()).hexdigest()[:12] for key_hash in self.hashes)

    def enter(self, is_work: bool = True) -> None:
        """Count a request; one that `is_work` counts until `release`. Raises LimitReached, then nothing is counted."""
        if is_work and self.concurrency is not None and self.in_work >= self.concurrency:
            raise LimitReached(f"this key has {self.in_work} requests in work already, the most that it may have", 1)
        if self.rate is not None:
            now = self.clock()
            self._tokens = min(self.burst, self._tokens + self.rate * (now - self._filled))
            self._filled = now
            if self._tokens < 1:
                raise LimitReached(f"this key may send {self.rate:g} requests a second", (1 - self._tokens) / self.rate)
            self._tokens -= 1
        if is_work:
            self.in_work += 1

    def release(self) -> None:
        """End a request that counts as work."""
        self.in_work -= 1


def owner_of(key: Key | None) -> str:
    """The owner of what a request stores; "" on a server without keys."""
    return "" if key is None else key.owner


@dataclass(frozen=True)
class KeyRing:
    """All keys of a server. Without keys every request is allowed."""

    keys: tuple[Key, ...] = ()

    @classmethod
    def load(cls, setting: str) -> "KeyRing":
        """`setting`: the path of a file of keys, or the lines of such a file. Raises SettingsError."""
        if not setting:
            return cls()
        if "sha256:" in setting:
            return cls(tuple(read_keys(re.split(r"[;\n]", setting), "api_keys")))
        try:
            return cls(tuple(read_keys(Path(setting).read_text(encoding="utf-8").splitlines(), setting)))
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(
                f"api_keys: {setting} cannot be read ({error}); `ringmt key NAME` makes a line"
            ) from error

    def find(self, presented: str) -> Key | None:
        """The key with this secret, None for an unknown one. Its time does not depend on the keys."""
        digest = hash_of(presented)
        result = None
        for key in self.keys:
            for key_hash in key.hashes:
                if hmac.compare_digest(digest, key_hash):
                    result = key
        return result

    @property
    def former_owners(self) -> dict[str, str]:
        """Former name of an owner -> its name today."""
        return {former: key.owner for key in self.keys for former in key.former_owners}


def read_keys(lines: Iterable[str], where: str) -> list[Key]:
    """Raises SettingsError that names the line. Empty lines and lines that begin with # are skipped."""
    keys: dict[str, Key] = {}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        key = _read_key(text, f"{where}, line {number}")
        for other in keys.values():
            if key.hashes[0] in other.hashes:
                raise SettingsError(f"{where}, line {number}: the same secret is on an earlier line, of '{other.name}'")
        keys[key.name] = _with_secret(keys[key.name], key, f"{where}, line {number}") if key.name in keys else key
    if not keys:
        raise SettingsError(f"{where} holds no key; `ringmt key NAME` makes a line")
    return list(keys.values())


def _with_secret(key: Key, other: Key, where: str) -> Key:
    """The key with the secret of another line. Raises SettingsError if the lines differ in scopes or limits."""
    for what, mine, its in (
        ("scopes", sorted(key.scopes), sorted(other.scopes)),
        ("concurrency", key.concurrency, other.concurrency),
        ("rate", key.rate, other.rate),
    ):
        if mine != its:
            raise SettingsError(
                f"{where}: '{key.name}' has other {what} on an earlier line. Lines of one name are secrets of one key: "
                "write the same scopes and limits on each, or give it another name"
            )
    return replace(key, hashes=key.hashes + other.hashes)


def _read_key(text: str, where: str) -> Key:
    parts = _LINE.fullmatch(text)
    if parts is None:
        raise SettingsError(f"{where} is not 'NAME SCOPES sha256:HASH [concurrency=N] [rate=N]'")
    scopes = parts["scopes"].split(",")
    for scope in scopes:
        if scope not in SCOPES:
            raise SettingsError(f"{where}: unknown scope '{scope}': {nearest(scope, SCOPES)}")
    limits: dict[str, float] = {}
    for limit in parts["limits"].split():
        name, _, value = limit.partition("=")
        if name not in ("concurrency", "rate"):
            raise SettingsError(f"{where}: unknown limit '{name}': {nearest(name, ('concurrency', 'rate'))}")
        if not re.fullmatch(r"\d+(\.\d+)?", value) or float(value) <= 0 or (name == "concurrency" and "." in value):
            raise SettingsError(f"{where}: {name} must be a number above 0, not '{value}'")
        limits[name] = float(value)
    concurrency = int(limits["concurrency"]) if "concurrency" in limits else None
    chosen = frozenset(scope for scope in SCOPES if scope in scopes)
    return Key(parts["name"], chosen, (parts["hash"],), concurrency, limits.get("rate"))


def hash_of(key: str) -> str:
    """SHA-256, hex."""
    return hashlib.sha256(key.encode("utf-8", errors="surrogateescape")).hexdigest()


def new_key(name: str, scopes: Iterable[Scope]) -> tuple[str, str]:
    """A new secret, and its line for the list of keys."""
    key = f"ringmt-{secrets.token_urlsafe(32)}"
    return key, f"{name} {','.join(scopes)} sha256:{hash_of(key)}"

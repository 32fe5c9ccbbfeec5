"""A key as requests use it: what it may, and how many requests it has in work and has sent."""

import hashlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from server.keys.record import KeyLimits, KeyRecord, Scope

Origin = Literal["settings", "file", "store"]
"""Where a key is listed: in the setting `api_keys` itself, in the file that it names, or in the store."""


class LimitReached(Exception):
    """The key has too many requests at a time, or per second. `seconds` until the next attempt, at least 1."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = max(1, math.ceil(seconds))


class CountedTraffic(Protocol):
    """The requests of one name, in one process or in all processes of a server."""

    @property
    def in_work(self) -> int: ...

    def enter(self, limits: KeyLimits, is_work: bool) -> None:
        """Count a request; one that `is_work` counts until `release`. Raises LimitReached, then nothing is counted."""
        ...

    def release(self) -> None:
        """End a request that counts as work."""
        ...


@dataclass
class Traffic:
    """The requests of one name, which its key has in work and has sent lately; stays when the key changes."""

    clock: Callable[[], float] = time.monotonic
    in_work: int = 0
    _tokens: float = math.inf
    _filled: float = field(init=False)

    def __post_init__(self) -> None:
        self._filled = self.clock()

    def enter(self, limits: KeyLimits, is_work: bool) -> None:
        """Count a request; one that `is_work` counts until `release`. Raises LimitReached, then nothing is counted."""
        if is_work:
            check_concurrency(limits, self.in_work)
        if limits.rate is not None:
            now = self.clock()
            self._tokens, self._filled = filled(self._tokens, limits.rate, now - self._filled), now
            check_rate(limits.rate, self._tokens)
            self._tokens -= 1
        if is_work:
            self.in_work += 1

    def release(self) -> None:
        """End a request that counts as work."""
        self.in_work -= 1


def check_concurrency(limits: KeyLimits, in_work: int) -> None:
    """Raises LimitReached where a key has `in_work` requests in work and may have no more."""
    if limits.concurrency is not None and in_work >= limits.concurrency:
        raise LimitReached(f"this key has {in_work} requests in work already, the most that it may have", 1)


def filled(tokens: float, rate: float, seconds: float) -> float:
    """The tokens of a bucket after more seconds, at `rate` a second; a full one has those of two seconds."""
    return min(max(1.0, 2 * rate), tokens + rate * seconds)


def check_rate(rate: float, tokens: float) -> None:
    """Raises LimitReached where a bucket has no token for a request."""
    if tokens < 1:
        raise LimitReached(f"this key may send {rate:g} requests a second", (1 - tokens) / rate)


@dataclass(frozen=True)
class Key:
    record: KeyRecord
    origin: Origin = "settings"
    traffic: CountedTraffic = field(default_factory=Traffic)

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def scopes(self) -> frozenset[Scope]:
        return self.record.scopes

    @property
    def limits(self) -> KeyLimits:
        return self.record.limits

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
        hashes = (secret.hash for secret in self.record.secrets)
        return tuple(hashlib.sha256(f"owner {key_hash}".encode()).hexdigest()[:12] for key_hash in hashes)

    @property
    def in_work(self) -> int:
        return self.traffic.in_work

    def enter(self, is_work: bool = True) -> None:
        """Count a request; one that `is_work` counts until `release`. Raises LimitReached, then nothing is counted."""
        self.traffic.enter(self.limits, is_work)

    def release(self) -> None:
        """End a request that counts as work."""
        self.traffic.release()


def owner_of(key: Key | None) -> str:
    """The owner of what a request stores; "" on a server without keys."""
    return "" if key is None else key.owner

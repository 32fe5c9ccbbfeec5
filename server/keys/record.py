"""What is kept of an API key: its name, scopes, limits, and the hashes of its secrets.

A secret is 32 random bytes. They cannot be guessed, so one SHA-256 protects them as well as a slow hash would, which
every request would have to wait for. Neither secret nor hash is written to logs, metrics or errors.
"""

import hashlib
import re
import secrets
from dataclasses import dataclass, replace
from typing import Literal, get_args

Scope = Literal["translate", "documents", "admin"]
"""`admin`: everything, including the documents of all keys."""
SCOPES: tuple[Scope, ...] = get_args(Scope)
NAME = re.compile(r"[A-Za-z0-9_.-]{1,200}")
LIMITS = ("concurrency", "rate", "chars_per_day", "chars_per_month")
MOST_SECRETS = 8
"""Secrets of one key, while one is exchanged for another."""


@dataclass(frozen=True)
class KeyLimits:
    """`concurrency`: requests at the same time; `rate`: requests per second, twice as many in a burst;
    `chars_per_day`, `chars_per_month`: characters of texts that are translated, in a day and a month of UTC. None: no
    limit. The first two hold for each server, the others for all servers of one store together."""

    concurrency: int | None = None
    rate: float | None = None
    chars_per_day: int | None = None
    chars_per_month: int | None = None


@dataclass(frozen=True)
class Secret:
    """`expires`: when it is accepted no more, in seconds since 1970."""

    hash: str
    expires: float | None = None

    def is_valid(self, now: float) -> bool:
        return self.expires is None or now < self.expires

    def until(self, ends: float) -> "Secret":
        """The secret, which expires at `ends` at the latest."""
        return replace(self, expires=ends if self.expires is None else min(ends, self.expires))


@dataclass(frozen=True)
class KeyRecord:
    """`secrets`, each of which is accepted: several while one is exchanged for another, the newest last. `created`: in
    seconds since 1970, None if it is not known."""

    name: str
    scopes: frozenset[Scope]
    secrets: tuple[Secret, ...]
    limits: KeyLimits = KeyLimits()
    created: float | None = None

    @property
    def expires(self) -> float | None:
        """When its last secret expires; None: never."""
        ends = [secret.expires for secret in self.secrets]
        return None if None in ends else max((end for end in ends if end is not None), default=0.0)

    def rotated(self, new_hash: str, now: float, keep_seconds: float) -> "KeyRecord":
        """With a new secret, which expires when the newest one does; the others expire in `keep_seconds`."""
        kept = [secret.until(now + keep_seconds) for secret in self.secrets if secret.is_valid(now)]
        kept = [secret for secret in kept if secret.is_valid(now)][-(MOST_SECRETS - 1) :]
        return replace(self, secrets=(*kept, Secret(new_hash, self.secrets[-1].expires)))


def sorted_scopes(scopes: frozenset[Scope]) -> list[Scope]:
    """In the order of SCOPES."""
    return [scope for scope in SCOPES if scope in scopes]


def hash_of(secret: str) -> str:
    """SHA-256, hex."""
    return hashlib.sha256(secret.encode("utf-8", errors="surrogateescape")).hexdigest()


def new_secret() -> str:
    """32 random bytes, as text."""
    return f"ringmt-{secrets.token_urlsafe(32)}"

"""The tensors of a step that writes a ring, by the position of each slot."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from server.backends.arrays import Bools, Ints


@dataclass(frozen=True)
class RingTables:
    """For every ring slot, the tensors of a step that writes it (see server/artifact/signature.py)."""

    own_key: Bools
    kept_key: Bools
    key_age: Ints
    entry: Ints

    @classmethod
    @lru_cache(maxsize=32)  # never written to
    def of(cls, capacity: int, beam: int) -> "RingTables":
        entry = np.arange(capacity * beam).reshape(capacity, beam, 1)
        own_key, kept_key = written_keys(entry, np.arange(capacity * beam))
        ages = (np.arange(capacity)[:, None] - np.arange(capacity)[None, :]) % capacity
        return cls(own_key, kept_key, np.repeat(ages, beam, axis=1), entry)


def written_keys(entry: Ints, every_entry: Ints) -> tuple[Bools, Bools]:
    """`own_key` [..., beam, entry] and `kept_key` [..., 1, entry] of steps that write `entry` [..., beam, 1]."""
    own_key: Bools = np.equal(entry, every_entry)
    kept_key: Bools = np.logical_not(np.logical_or.reduce(own_key, -2, keepdims=True))
    return own_key, kept_key

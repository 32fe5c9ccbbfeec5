"""All keys of a server, from every place in which they are listed, and how a request's secret finds its key."""

import hmac
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from server.keys.key import CountedTraffic, Key, Origin, Traffic
from server.keys.lines import read_keys
from server.keys.record import KeyRecord, Secret, hash_of
from server.runtime.setting_fields import SettingsError
from server.settings import KEYS_IN_STORE

INDEXED = 16
"""Hexadecimal digits of a hash by which it is found; the rest is compared in constant time."""


@dataclass(frozen=True)
class _Entry:
    secret: Secret
    key: Key


@dataclass(frozen=True)
class _Listed:
    """What requests see; replaced as a whole, so that each request sees all keys at one moment."""

    keys: tuple[Key, ...] = ()
    by_hash: Mapping[str, tuple[_Entry, ...]] = field(default_factory=dict)


class KeyRing:
    """Keys of the settings or of a file, and those of the store. `is_required`: every request needs one; without it
    every request is allowed, and there are no keys. `file`: the one that the settings name.

    Another thread may `replace` keys while requests are admitted."""

    def __init__(
        self,
        records: Iterable[KeyRecord] = (),
        origin: Origin = "settings",
        is_required: bool = False,
        file: Path | None = None,
        clock: Callable[[], float] = time.time,
        new_traffic: Callable[[str], CountedTraffic] = lambda name: Traffic(),
    ) -> None:
        """`new_traffic`: counts the requests of a name."""
        self.is_required, self.file = is_required, file
        self._clock, self._new_traffic = clock, new_traffic
        self._records: dict[Origin, tuple[KeyRecord, ...]] = {}
        self._traffic: dict[str, CountedTraffic] = {}
        self._listed = _Listed()
        self.replace(origin, records)

    @classmethod
    def load(cls, setting: str, new_traffic: Callable[[str], CountedTraffic] = lambda name: Traffic()) -> "KeyRing":
        """`setting`: the path of a file of keys, the lines of such a file, or "store". Raises SettingsError."""
        if not setting:
            return cls()
        if setting == KEYS_IN_STORE:
            return cls(is_required=True, new_traffic=new_traffic)
        if "sha256:" in setting:
            records = read_keys(re.split(r"[;\n]", setting), "api_keys")
            return cls(records, is_required=True, new_traffic=new_traffic)
        file = Path(setting)
        return cls(read_key_file(file), "file", is_required=True, file=file, new_traffic=new_traffic)

    @property
    def keys(self) -> tuple[Key, ...]:
        return self._listed.keys

    def replace(self, origin: Origin, records: Iterable[KeyRecord]) -> None:
        """The keys of one place are these from now on. Requests in work still count for the key of their name. A name
        of the settings or their file hides the same name in the store."""
        self._records[origin] = tuple(records)
        keys: dict[str, Key] = {}
        by_hash: dict[str, tuple[_Entry, ...]] = {}
        for place in ("settings", "file", "store"):
            for record in self._records.get(place, ()):
                if record.name in keys:
                    continue
                if record.name not in self._traffic:
                    self._traffic[record.name] = self._new_traffic(record.name)
                traffic = self._traffic[record.name]
                key = keys[record.name] = Key(record, place, traffic)
                for secret in record.secrets:
                    start = secret.hash[:INDEXED]
                    by_hash[start] = (*by_hash.get(start, ()), _Entry(secret, key))
        self._traffic = {name: traffic for name, traffic in self._traffic.items() if name in keys or traffic.in_work}
        self._listed = _Listed(tuple(keys.values()), by_hash)

    def find(self, presented: str) -> Key | None:
        """The key with this secret, None for an unknown one and for one that has expired. Its time does not depend on
        how many keys there are. What it does depend on, the digits of a hash, reveals nothing about a secret."""
        digest = hash_of(presented)
        for entry in self._listed.by_hash.get(digest[:INDEXED], ()):
            if hmac.compare_digest(digest, entry.secret.hash) and entry.secret.is_valid(self._clock()):
                return entry.key
        return None

    @property
    def former_owners(self) -> dict[str, str]:
        """Former name of an owner -> its name today."""
        return {former: key.owner for key in self.keys for former in key.former_owners}


def read_key_file(file: Path, may_be_empty: bool = False) -> list[KeyRecord]:
    """The keys of a file. Raises SettingsError."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"api_keys: {file} cannot be read ({error}); `ringmt key NAME` makes a line") from error
    return read_keys(text.splitlines(), str(file), may_be_empty=may_be_empty and bool(text.strip()))

"""Keys as lines of text, in a file or in a setting:

`NAME SCOPES sha256:HASH [concurrency=N] [rate=N] [chars_per_day=N] [chars_per_month=N] [expires=TIME]`

Lines of one name are several secrets of one key, as long as one is exchanged for another: what is kept belongs to the
name, and the limits hold for all of its secrets together. `expires` is of the secret on its line.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime

from server.keys.record import (
    LIMITS,
    NAME,
    SCOPES,
    KeyLimits,
    KeyRecord,
    Scope,
    Secret,
    sorted_scopes,
)
from server.runtime.nearest_name import nearest
from server.runtime.setting_fields import SettingsError

FIELDS = (*LIMITS, "expires")
_LINE = re.compile(
    rf"(?P<name>{NAME.pattern})\s+(?P<scopes>[a-z,]+)\s+sha256:(?P<hash>[0-9a-f]{{64}})(?P<more>(\s+\S+)*)"
)
_NUMBER = re.compile(r"\d{1,15}(\.\d{1,9})?", re.ASCII)


def read_keys(lines: Iterable[str], where: str, may_be_empty: bool = False) -> list[KeyRecord]:
    """Raises SettingsError that names the line. Empty lines and lines that begin with # are skipped."""
    keys: dict[str, KeyRecord] = {}
    names: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        place = f"{where}, line {number}"
        key = _read_key(text, place)
        key_hash = key.secrets[0].hash
        if key_hash in names:
            raise SettingsError(f"{place}: the same secret is on an earlier line, of '{names[key_hash]}'")
        names[key_hash] = key.name
        keys[key.name] = _with_secret(keys[key.name], key, place) if key.name in keys else key
    if not keys and not may_be_empty:
        raise SettingsError(f"{where} holds no key; `ringmt key NAME` makes a line")
    return list(keys.values())


def _with_secret(key: KeyRecord, other: KeyRecord, where: str) -> KeyRecord:
    """The key with the secret of another line. Raises SettingsError if the lines differ in scopes or limits."""
    mine, its = asdict(key.limits), asdict(other.limits)
    different = ["scopes"] if key.scopes != other.scopes else [limit for limit in LIMITS if mine[limit] != its[limit]]
    if different:
        raise SettingsError(
            f"{where}: '{key.name}' has other {different[0]} on an earlier line. Lines of one name are secrets of one "
            "key: write the same scopes and limits on each, or give it another name"
        )
    return replace(key, secrets=key.secrets + other.secrets)


def _read_key(text: str, where: str) -> KeyRecord:
    parts = _LINE.fullmatch(text)
    if parts is None:
        form = " ".join(f"[{field}=N]" for field in LIMITS)
        raise SettingsError(f"{where} is not 'NAME SCOPES sha256:HASH {form} [expires=TIME]'")
    values: dict[str, str] = {}
    for item in parts["more"].split():
        name, _, value = item.partition("=")
        if name not in FIELDS:
            raise SettingsError(f"{where}: unknown limit '{name}': {nearest(name, FIELDS)}")
        values[name] = value
    expires = values.pop("expires", None)
    secret = Secret(parts["hash"], None if expires is None else read_time(expires, where))
    return KeyRecord(parts["name"], read_scopes(parts["scopes"], where), (secret,), read_limits(values, where))


def read_scopes(text: str, where: str) -> frozenset[Scope]:
    """Scopes with commas between them. Raises SettingsError."""
    scopes = text.split(",")
    for scope in scopes:
        if scope not in SCOPES:
            raise SettingsError(f"{where}: unknown scope '{scope}': {nearest(scope, SCOPES)}")
    return frozenset(scope for scope in SCOPES if scope in scopes)


def read_limits(values: Mapping[str, str], where: str) -> KeyLimits:
    """Limits from text, by their names. Raises SettingsError."""
    numbers: dict[str, float | int] = {}
    for name, value in values.items():
        is_whole = name != "rate"
        if not _NUMBER.fullmatch(value) or float(value) <= 0 or (is_whole and "." in value):
            raise SettingsError(f"{where}: {name} must be a number above 0, not '{value}'")
        numbers[name] = int(value) if is_whole else float(value)
    return KeyLimits(**numbers)  # type: ignore[arg-type]


def read_time(text: str, where: str) -> float:
    """Seconds since 1970 of a day or time in ISO 8601, in UTC if it names no other zone. Raises SettingsError."""
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo is not None else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise SettingsError(f"{where}: expires must be a time like 2027-01-31 or 2027-01-31T12:00:00Z") from None


def written_time(seconds: float) -> str:
    """The inverse of `read_time`, to the second."""
    return datetime.fromtimestamp(round(seconds), UTC).isoformat().replace("+00:00", "Z")


def lines_of(key: KeyRecord) -> list[str]:
    """A line for each secret."""
    limits = [f" {name}={_written(value)}" for name, value in asdict(key.limits).items() if value is not None]
    start = f"{key.name} {','.join(sorted_scopes(key.scopes))} sha256:"
    return [
        "".join([start, secret.hash, *limits])
        + ("" if secret.expires is None else f" expires={written_time(secret.expires)}")
        for secret in key.secrets
    ]


def _written(number: float) -> str:
    """As `_NUMBER` reads it, without an exponent."""
    return str(number) if isinstance(number, int) else f"{number:.9f}".rstrip("0").rstrip(".")

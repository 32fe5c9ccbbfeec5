"""Keys as a store keeps them: JSON in ASCII."""

import json
import logging
from dataclasses import asdict, fields
from typing import Any

from server.keys.record import SCOPES, KeyLimits, KeyRecord, Secret, sorted_scopes
from server.stores.keys import StoredKeys

logger = logging.getLogger("ringmt")

_LIMITS = frozenset(field.name for field in fields(KeyLimits))


def encode(record: KeyRecord) -> str:
    values = {
        "scopes": sorted_scopes(record.scopes),
        "secrets": [asdict(secret) for secret in record.secrets],
        "limits": {name: limit for name, limit in asdict(record.limits).items() if limit is not None},
        "created": record.created,
    }
    return json.dumps(values, separators=(",", ":"))


def decode(name: str, body: str) -> KeyRecord:
    """The inverse of `encode`. Fields and scopes that a newer RingMT added are left out; a key with a limit that is not
    known here is no key (ValueError), because it would be without that limit."""
    values: dict[str, Any] = json.loads(body)
    unknown = values["limits"].keys() - _LIMITS
    if unknown:
        raise ValueError(f"its limits {', '.join(sorted(unknown))} are not known")
    return KeyRecord(
        name,
        frozenset(scope for scope in SCOPES if scope in values["scopes"]),
        tuple(Secret(str(secret["hash"]), secret["expires"]) for secret in values["secrets"]),
        KeyLimits(**values["limits"]),
        values["created"],
    )


def read_stored(stored: StoredKeys) -> list[KeyRecord]:
    """All keys of a store; one that cannot be read is left out, and the log says so."""
    records = []
    for name, body in stored.bodies.items():
        try:
            records.append(decode(name, body))
        except (ValueError, KeyError, TypeError) as error:
            logger.error("the API key '%s' of the store cannot be read and is not accepted: %s", name, error)
    return records

"""API keys and counted characters in the Redis server of the documents: a hash `api_keys` with a field for each key and
its `api_keys_version`; a hash `key_usage:PERIOD` with a field for each owner, the set `key_usage_periods` of their
periods, `key_usage_version`, and `key_usage_batch:WRITER`, the last batch that a server wrote: the only keys that have
a time to live."""

import uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final

from server.stores.keys import MOST_KEYS, StoredKeys, UnknownKey, check_kept, check_number_of_keys
from server.stores.redis_common import PREFIX
from server.stores.usage import BATCH_SECONDS, Counter

KEYS_KEY: Final = f"{PREFIX}api_keys"
VERSION_KEY: Final = f"{PREFIX}api_keys_version"
PERIODS_KEY: Final = f"{PREFIX}key_usage_periods"
USAGE_VERSION_KEY: Final = f"{PREFIX}key_usage_version"
# KEYS: the hash, its version. ARGV: name, its new version, body, the most keys, and what is replaced, if anything is.
_PUT: Final = """
local kept = redis.call('HGET', KEYS[1], ARGV[1])
if (kept or nil) ~= ARGV[5] then return {'other', kept} end
local number = redis.call('HLEN', KEYS[1])
if not kept and number >= tonumber(ARGV[4]) then return {'full', number} end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('SET', KEYS[2], ARGV[2])
return {'ok'}
"""
# KEYS: the hash, its version. ARGV: name, its new version.
_DELETE: Final = """
if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('SET', KEYS[2], ARGV[2])
return 1
"""
# KEYS: the writer's last batch, the set of periods, the version. ARGV: prefix of the counters, the batch, its seconds
# to live, the new version; then triples of period, owner and number.
_ADD: Final = """
local last = redis.call('GET', KEYS[1])
if last and tonumber(last) >= tonumber(ARGV[2]) then return 0 end
for at = 5, #ARGV, 3 do
    local key, owner = ARGV[1] .. ARGV[at], ARGV[at + 1]
    redis.call('SADD', KEYS[2], ARGV[at])
    if redis.call('HINCRBY', key, owner, ARGV[at + 2]) < 0 then redis.call('HSET', key, owner, 0) end
end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
redis.call('SET', KEYS[3], ARGV[4])
return 1
"""


class RedisKeys:
    """A KeyStore. `client` and `errors` are those of the store that it belongs to."""

    def __init__(self, client: Any, errors: Callable[[], AbstractContextManager[None]]) -> None:
        self._client, self._errors = client, errors
        self._put, self._delete = map(client.register_script, (_PUT, _DELETE))

    def version(self) -> str:
        with self._errors():
            return _text(self._client.get(VERSION_KEY))

    def read(self) -> StoredKeys:
        with self._errors(), self._client.pipeline(transaction=True) as pipe:
            version, bodies = pipe.get(VERSION_KEY).hgetall(KEYS_KEY).execute()
        return StoredKeys(_text(version), {name.decode(): body.decode() for name, body in sorted(bodies.items())})

    def put(self, name: str, body: str, instead_of: str | None = None) -> None:
        arguments = [name, uuid.uuid4().hex, body, MOST_KEYS] + ([] if instead_of is None else [instead_of])
        with self._errors():
            answer, *more = self._put(keys=(KEYS_KEY, VERSION_KEY), args=arguments)
        if answer == b"other":
            check_kept(more[0].decode() if more and more[0] is not None else None, instead_of)
        if answer == b"full":
            check_number_of_keys(int(more[0]))

    def delete(self, name: str) -> None:
        with self._errors():
            if not self._delete(keys=(KEYS_KEY, VERSION_KEY), args=(name, uuid.uuid4().hex)):
                raise UnknownKey


def _text(version: bytes | None) -> str:
    """Empty as long as nothing was written."""
    return "" if version is None else version.decode()


class RedisUsage:
    """A UsageStore. `client` and `errors` are those of the store that it belongs to."""

    def __init__(self, client: Any, errors: Callable[[], AbstractContextManager[None]]) -> None:
        self._client, self._errors = client, errors
        self._add = client.register_script(_ADD)

    def add(self, writer: str, batch: int, counts: Mapping[Counter, int]) -> None:
        arguments: list[str | int] = [_key(""), batch, BATCH_SECONDS, f"{writer} {batch}"]
        for counter, number in counts.items():
            arguments += [counter.period, counter.owner, number]
        with self._errors():
            self._add(keys=(f"{PREFIX}key_usage_batch:{writer}", PERIODS_KEY, USAGE_VERSION_KEY), args=arguments)

    def version(self) -> str:
        with self._errors():
            return _text(self._client.get(USAGE_VERSION_KEY))

    def read(self, periods: tuple[str, ...]) -> dict[Counter, int]:
        with self._errors(), self._client.pipeline(transaction=True) as pipe:
            for period in periods:
                pipe.hgetall(_key(period))
            hashes = pipe.execute()
        return {
            Counter(owner.decode(), period): int(number)
            for period, numbers in zip(periods, hashes, strict=True)
            for owner, number in numbers.items()
            if int(number)
        }

    def forget(self, before_day: str, before_month: str) -> None:
        with self._errors():
            periods = [period.decode() for period in self._client.smembers(PERIODS_KEY)]
            old = [
                period
                for period in periods
                if period < (before_month if len(period) == len(before_month) else before_day)
            ]
            if old:
                self._client.delete(*map(_key, old))
                self._client.srem(PERIODS_KEY, *old)


def _key(period: str) -> str:
    return f"{PREFIX}key_usage:{period}"

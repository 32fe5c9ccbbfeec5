"""Glossaries in the Redis server of the documents: a hash `glossaries:OWNER` with a field for each, a hash
`glossary_versions:OWNER` of their versions, and a sorted set `all_glossaries` of all ids with their owners."""

import uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final

from server.stores.glossaries import GlossaryLimits, UnknownGlossary, check_kept
from server.stores.redis_common import PREFIX

GLOSSARIES_KEY: Final = f"{PREFIX}all_glossaries"
"""Members are those of `glossary_place`, in their order."""
# KEYS: the hash, the set of all, the hash of versions. ARGV: id, body, the most glossaries, the most bytes, its place
# among all, its new version, and what is replaced, if anything is.
_PUT: Final = """
local key, id, body, most, most_bytes = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local kept = redis.call('HGET', key, id)
if (kept or nil) ~= ARGV[7] then return {'other', kept} end
local number, size = 1, #body
for _, other in ipairs(redis.call('HKEYS', key)) do
    if other ~= id then
        number = number + 1
        size = size + redis.call('HSTRLEN', key, other)
    end
end
if number > most or size > most_bytes then return {'full', number, size} end
redis.call('HSET', key, id, body)
redis.call('ZADD', KEYS[2], 0, ARGV[5])
redis.call('HSET', KEYS[3], id, ARGV[6])
return {'ok'}
"""


# KEYS: the hash, that of versions. ARGV: id, the version if there is none yet.
_VERSION: Final = """
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return nil end
redis.call('HSETNX', KEYS[2], ARGV[1], ARGV[2])
return redis.call('HGET', KEYS[2], ARGV[1])
"""
# KEYS: the hash, the set of all, the hash of versions. ARGV: id, its place among all.
_DELETE: Final = """
redis.call('HDEL', KEYS[3], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[2])
return redis.call('HDEL', KEYS[1], ARGV[1])
"""
# KEYS: the hashes of the former owner and of the new one, the set of all, the former owner's versions. ARGV: the ends
# of the places of both.
_RENAME: Final = """
local kept = redis.call('HGETALL', KEYS[1])
for at = 1, #kept, 2 do
    redis.call('HSETNX', KEYS[2], kept[at], kept[at + 1])
    redis.call('ZREM', KEYS[3], kept[at] .. ARGV[1])
    redis.call('ZADD', KEYS[3], 0, kept[at] .. ARGV[2])
end
redis.call('DEL', KEYS[1], KEYS[4])
"""


class RedisGlossaries:
    """A GlossaryStore. `client` and `errors` are those of the store that they belong to."""

    def __init__(self, client: Any, errors: Callable[[], AbstractContextManager[None]]) -> None:
        self._client, self._errors = client, errors
        self._put, self._version, self._delete, self._rename = map(
            client.register_script, (_PUT, _VERSION, _DELETE, _RENAME)
        )

    def put(
        self, owner: str, glossary_id: str, body: str, limits: GlossaryLimits, instead_of: str | None = None
    ) -> None:
        place, version = glossary_place(glossary_id, owner), uuid.uuid4().hex
        arguments = [glossary_id, body, limits.number, limits.num_bytes, place, version]
        arguments += [] if instead_of is None else [instead_of]
        with self._errors():
            status, *more = self._put(keys=(_key(owner), GLOSSARIES_KEY, _versions_key(owner)), args=arguments)
        if status == b"other":
            check_kept(more[0].decode() if more and more[0] is not None else None, instead_of)
        if status == b"full":
            limits.check(*more)

    def get(self, owner: str, glossary_id: str) -> str:
        with self._errors():
            body = self._client.hget(_key(owner), glossary_id)
        if body is None:
            raise UnknownGlossary
        return str(body.decode())

    def version(self, owner: str, glossary_id: str) -> str:
        with self._errors():
            version = self._version(keys=(_key(owner), _versions_key(owner)), args=(glossary_id, uuid.uuid4().hex))
        if version is None:
            raise UnknownGlossary
        return str(version.decode())

    def of_owner(self, owner: str) -> Mapping[str, str]:
        with self._errors():
            result = self._client.hgetall(_key(owner))
        return {name.decode(): body.decode() for name, body in result.items()}

    def delete(self, owner: str, glossary_id: str) -> None:
        arguments = glossary_id, glossary_place(glossary_id, owner)
        with self._errors():
            if not self._delete(keys=(_key(owner), GLOSSARIES_KEY, _versions_key(owner)), args=arguments):
                raise UnknownGlossary

    def page(self, limit: int, after: str = "") -> list[tuple[str, str]]:
        first = f"({after} \xff" if after else "-"
        with self._errors():
            places = self._client.zrangebylex(GLOSSARIES_KEY, first, "+", 0, limit)
        return [(name, owner) for name, _, owner in (place.decode().partition(" ") for place in places)]

    def owner_of(self, glossary_id: str) -> str:
        with self._errors():
            places = self._client.zrangebylex(GLOSSARIES_KEY, f"[{glossary_id} ", f"({glossary_id} \xff", 0, 1)
        if not places:
            raise UnknownGlossary
        return str(places[0].decode().partition(" ")[2])

    def rename_owner(self, former: str, owner: str) -> None:
        with self._errors():
            keys = (_key(former), _key(owner), GLOSSARIES_KEY, _versions_key(former))
            self._rename(keys=keys, args=(f" {former}", f" {owner}"))


def glossary_place(glossary_id: str, owner: str) -> str:
    """Sorts by id, then by owner; neither has spaces."""
    return f"{glossary_id} {owner}"


def _key(owner: str) -> str:
    return f"{PREFIX}glossaries:{owner}"


def _versions_key(owner: str) -> str:
    return f"{PREFIX}glossary_versions:{owner}"

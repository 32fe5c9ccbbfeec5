"""Glossaries in the Redis server of the documents: a hash `glossaries:OWNER` with a field for each."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final

from server.documents.stores.glossaries import GlossaryLimits, UnknownGlossary, check_kept
from server.documents.stores.redis_scripts import PREFIX

# KEYS[1]: the hash. ARGV: id, body, the most glossaries, the most bytes, and what is replaced, if anything is.
_PUT: Final = """
local key, id, body, most, most_bytes = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local kept = redis.call('HGET', key, id)
if (kept or nil) ~= ARGV[5] then return {'other', kept} end
local number, size = 1, #body
for _, other in ipairs(redis.call('HKEYS', key)) do
    if other ~= id then
        number = number + 1
        size = size + redis.call('HSTRLEN', key, other)
    end
end
if number > most or size > most_bytes then return {'full', number, size} end
redis.call('HSET', key, id, body)
return {'ok'}
"""


class RedisGlossaries:
    """A GlossaryStore. `client` and `errors` are those of the store that they belong to."""

    def __init__(self, client: Any, errors: Callable[[], AbstractContextManager[None]]) -> None:
        self._client, self._errors = client, errors
        self._put = client.register_script(_PUT)

    def put(
        self, owner: str, glossary_id: str, body: str, limits: GlossaryLimits, instead_of: str | None = None
    ) -> None:
        arguments = [glossary_id, body, limits.number, limits.num_bytes]
        with self._errors():
            said, *more = self._put(keys=(_key(owner),), args=arguments + ([] if instead_of is None else [instead_of]))
        if said == b"other":
            check_kept(more[0].decode() if more and more[0] is not None else None, instead_of)
        if said == b"full":
            limits.check(*more)

    def get(self, owner: str, glossary_id: str) -> str:
        with self._errors():
            body = self._client.hget(_key(owner), glossary_id)
        if body is None:
            raise UnknownGlossary
        return str(body.decode())

    def of_owner(self, owner: str) -> Mapping[str, str]:
        with self._errors():
            found = self._client.hgetall(_key(owner))
        return {name.decode(): body.decode() for name, body in found.items()}

    def delete(self, owner: str, glossary_id: str) -> None:
        with self._errors():
            if not self._client.hdel(_key(owner), glossary_id):
                raise UnknownGlossary


def _key(owner: str) -> str:
    return f"{PREFIX}glossaries:{owner}"

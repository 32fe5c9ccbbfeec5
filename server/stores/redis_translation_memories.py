"""Translation memories in the Redis server of the documents. The hash `memories:OWNER` has the head of each by its id.
The hash `memory:ID:OWNER` has its generation, the number of its last write, its entries and its size;
`memory_bodies:ID:OWNER` has its entries, and the sorted set `memory_order:ID:OWNER` their ids by their last writes. The
hashes `memories_kept` and `memories_kept:OWNER` have the entries and bytes of all, and of an owner."""

import uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final

from server.stores.redis_common import PREFIX
from server.stores.translation_memories import (
    MOST_DELETED,
    Generations,
    Kept,
    KeptEntry,
    KeptMemory,
    MemoryLimits,
    MemoryTaken,
    UnknownEntry,
    UnknownMemory,
    check_number,
)

# KEYS: the heads of the owner, the memory, its bodies, its order, what the owner keeps, what all keep. ARGV: its id.
_COMMON: Final = """
local id = ARGV[1]
local function count(entries, size)
    for _, key in ipairs({KEYS[5], KEYS[6]}) do
        redis.call('HINCRBY', key, 'entries', entries)
        redis.call('HINCRBY', key, 'size', size)
    end
end
local function kept(key, field) return tonumber(redis.call('HGET', key, field) or 0) end
-- ARGV from `at` on: the most memories, entries and bytes of an owner, and bytes of all.
local function exceeds(at, memories, entries, size)
    local more = memories > 0 or entries > 0 or size > 0
    memories = redis.call('HLEN', KEYS[1]) + memories
    entries = kept(KEYS[5], 'entries') + entries
    local size_of_all = kept(KEYS[6], 'size') + size
    size = kept(KEYS[5], 'size') + size
    local function passes(which, value) return value > tonumber(ARGV[at + which]) end
    if more and (passes(0, memories) or passes(1, entries) or passes(2, size) or passes(3, size_of_all)) then
        return {'full', memories, entries, size, size_of_all}
    end
end
"""
# ARGV: id, the limits (4), head, generation.
_CREATE: Final = """
if redis.call('HEXISTS', KEYS[1], id) == 1 then return {'taken'} end
local size = #ARGV[6]
local full = exceeds(2, 1, 0, size)
if full then return full end
redis.call('HSET', KEYS[1], id, ARGV[6])
redis.call('HSET', KEYS[2], 'generation', ARGV[7], 'last', 0, 'entries', 0, 'size', size)
count(0, size)
return {'ok'}
"""
_DELETE: Final = """
if redis.call('HDEL', KEYS[1], id) == 0 then return {'unknown'} end
count(0 - kept(KEYS[2], 'entries'), 0 - kept(KEYS[2], 'size'))  -- -0 is no integer
redis.call('UNLINK', KEYS[2], KEYS[3], KEYS[4])
return {'ok'}
"""
# ARGV: id, the limits (4); then pairs of an entry's id and body.
_PUT: Final = """
if redis.call('HEXISTS', KEYS[1], id) == 0 then return {'unknown'} end
local number, more = 0, 0
for at = 6, #ARGV, 2 do
    if redis.call('HEXISTS', KEYS[3], ARGV[at]) == 0 then number = number + 1 end
    more = more + #ARGV[at + 1] - redis.call('HSTRLEN', KEYS[3], ARGV[at])
end
local full = exceeds(2, 0, number, more)
if full then return full end
local last = kept(KEYS[2], 'last')
for at = 6, #ARGV, 2 do
    last = last + 1
    redis.call('HSET', KEYS[3], ARGV[at], ARGV[at + 1])
    redis.call('ZADD', KEYS[4], last, ARGV[at])
end
redis.call('HSET', KEYS[2], 'last', last)
redis.call('HINCRBY', KEYS[2], 'entries', number)
redis.call('HINCRBY', KEYS[2], 'size', more)
count(number, more)
return {'ok', number}
"""
# ARGV: id, an entry's id, how many ids a generation has. The next generation is that of `after_deletion`.
_REMOVE: Final = """
if redis.call('HEXISTS', KEYS[1], id) == 0 then return {'unknown'} end
local size = redis.call('HSTRLEN', KEYS[3], ARGV[2])
if redis.call('HDEL', KEYS[3], ARGV[2]) == 0 then return {'no entry'} end
redis.call('ZREM', KEYS[4], ARGV[2])
local before = redis.call('HGET', KEYS[2], 'generation')
local created, number, ids = before:match('^([^:]*):(%d+):(.*)$')
if not created then created, number, ids = before, 0, '' end
local named = {ARGV[2]}
for name in ids:gmatch('[^,]+') do
    if #named < tonumber(ARGV[3]) then table.insert(named, name) end
end
local after = created .. ':' .. string.format('%d', number + 1) .. ':' .. table.concat(named, ',')
redis.call('HSET', KEYS[2], 'generation', after)
redis.call('HINCRBY', KEYS[2], 'entries', -1)
redis.call('HINCRBY', KEYS[2], 'size', 0 - size)
count(-1, 0 - size)
return {'ok', before, after}
"""
# ARGV: id, the number before the first, how many.
_ENTRIES: Final = """
if redis.call('HEXISTS', KEYS[1], id) == 0 then return {'unknown'} end
local places = redis.call('ZRANGEBYSCORE', KEYS[4], '(' .. ARGV[2], '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[3])
local bodies = {}
for at = 1, #places, 2 do table.insert(bodies, redis.call('HGET', KEYS[3], places[at])) end
return {'ok', places, bodies}
"""
_KEPT: Final = ("generation", "last", "entries", "size")


class RedisTranslationMemories:
    """A TranslationMemoryStore. `client` and `errors` are those of the store that they belong to."""

    def __init__(self, client: Any, errors: Callable[[], AbstractContextManager[None]]) -> None:
        self._client, self._errors = client, errors
        self._create, self._delete, self._put, self._remove, self._entries = (
            client.register_script(_COMMON + script) for script in (_CREATE, _DELETE, _PUT, _REMOVE, _ENTRIES)
        )

    def create(self, owner: str, memory_id: str, head: str, limits: MemoryLimits) -> None:
        self._run(self._create, owner, memory_id, limits, head, uuid.uuid4().hex)

    def find(self, owner: str, memory_id: str) -> KeptMemory:
        with self._errors(), self._client.pipeline(transaction=True) as pipe:
            head, values = pipe.hget(_heads(owner), memory_id).hmget(_key("memory", owner, memory_id), *_KEPT).execute()
        if head is None:
            raise UnknownMemory
        return _memory(head, values)

    def of_owner(self, owner: str) -> Mapping[str, KeptMemory]:
        with self._errors():
            heads = self._client.hgetall(_heads(owner))
        memories = {}
        for memory_id in map(bytes.decode, heads):
            with self._errors():
                values = self._client.hmget(_key("memory", owner, memory_id), *_KEPT)
            if values[0] is not None:  # else deleted meanwhile
                memories[memory_id] = _memory(heads[memory_id.encode()], values)
        return memories

    def delete(self, owner: str, memory_id: str) -> None:
        self._run(self._delete, owner, memory_id, None)

    def put(self, owner: str, memory_id: str, bodies: Mapping[str, str], limits: MemoryLimits) -> int:
        check_number(bodies)
        pairs = [side for pair in bodies.items() for side in pair]
        [number] = self._run(self._put, owner, memory_id, limits, *pairs)
        return int(number)

    def remove(self, owner: str, memory_id: str, entry_id: str) -> Generations:
        before, after = self._run(self._remove, owner, memory_id, None, entry_id, MOST_DELETED)
        return Generations(before.decode(), after.decode())

    def entries(self, owner: str, memory_id: str, after: int, limit: int) -> list[KeptEntry]:
        places, bodies = self._run(self._entries, owner, memory_id, None, after, limit)
        return [
            KeptEntry(entry_id.decode(), int(number), body.decode())
            for entry_id, number, body in zip(places[::2], places[1::2], bodies, strict=True)
        ]

    def _run(
        self, script: Any, owner: str, memory_id: str, limits: MemoryLimits | None, *arguments: str | int
    ) -> list[Any]:
        """The results of a script. Raises UnknownMemory, UnknownEntry, MemoryTaken, MemoriesFull."""
        keys = [_heads(owner), *(_key(kind, owner, memory_id) for kind in ("memory", "memory_bodies", "memory_order"))]
        keys += [f"{PREFIX}memories_kept:{owner}", f"{PREFIX}memories_kept"]
        bounds = () if limits is None else (limits.memories, limits.entries, limits.owner_bytes, limits.num_bytes)
        with self._errors():
            status, *results = script(keys=keys, args=(memory_id, *bounds, *arguments))
        if status == b"unknown":
            raise UnknownMemory
        if status == b"no entry":
            raise UnknownEntry
        if status == b"taken":
            raise MemoryTaken
        if status == b"full" and limits is not None:
            *own, num_bytes = map(int, results)
            limits.check(Kept(*own), num_bytes)
        return list(results)


def _memory(head: bytes, values: list[bytes]) -> KeptMemory:
    generation, *numbers = values
    return KeptMemory(head.decode(), generation.decode(), *map(int, numbers))


def _heads(owner: str) -> str:
    return f"{PREFIX}memories:{owner}"


def _key(kind: str, owner: str, memory_id: str) -> str:
    """Ids have no colons."""
    return f"{PREFIX}{kind}:{memory_id}:{owner}"

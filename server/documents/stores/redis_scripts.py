"""The Lua scripts of the Redis store: each runs whole or not at all, and every check comes before the first write.

Keys of a document: a hash `document:ID` (body, state, version, model, created, touched, worker) and a list
`sentences:ID`, one element per sentence. Its id is in exactly one of three sorted sets: `queued` (by creation),
`running` (by the end of the lease in microseconds of the server's clock), `resting` (by last touch). `format` says how
all of them are written. No key has a time to live.
"""

from typing import Final

PREFIX: Final = "ringmt:"

COMMON = """
local prefix = ARGV[1]

local function count_documents()
    return redis.call('ZCARD', prefix .. 'queued') + redis.call('ZCARD', prefix .. 'running')
        + redis.call('ZCARD', prefix .. 'resting')
end

local function document_key(id) return prefix .. 'document:' .. id end
local function sentences_key(id) return prefix .. 'sentences:' .. id end

local function microseconds()
    local time = redis.call('TIME')
    return time[1] * 1000000 + time[2]
end

-- Out of whichever set it is in.
local function leave(id)
    redis.call('ZREM', prefix .. 'queued', id)
    redis.call('ZREM', prefix .. 'running', id)
    redis.call('ZREM', prefix .. 'resting', id)
end

-- The arguments from the given one on, as a set.
local function set_from(first)
    local set = {}
    for at = first, #ARGV do set[ARGV[at]] = true end
    return set
end

-- From ARGV[2] on: id, version, state, created, touched, body, number of sentences, what is expected, model, then
-- pairs of index and sentence, by index.
local function write(id)
    local kept = redis.call('LLEN', sentences_key(id))
    local count = kept
    for at = 11, #ARGV, 2 do
        local index = tonumber(ARGV[at])
        if index > count then return {'gap', kept} end
        if index == count then count = count + 1 end
    end
    if count ~= tonumber(ARGV[8]) then return {'count', count} end
    for at = 11, #ARGV, 2 do
        local index = tonumber(ARGV[at])
        if index < kept then
            redis.call('LSET', sentences_key(id), index, ARGV[at + 1])
        else
            redis.call('RPUSH', sentences_key(id), ARGV[at + 1])
        end
    end
    redis.call('HSET', document_key(id), 'version', ARGV[3], 'state', ARGV[4], 'created', ARGV[5],
        'touched', ARGV[6], 'body', ARGV[7], 'sentences', count, 'model', ARGV[10])
    if ARGV[4] == 'running' then
        -- A lease goes on; without one, anybody may claim it.
        redis.call('ZREM', prefix .. 'queued', id)
        redis.call('ZREM', prefix .. 'resting', id)
        redis.call('ZADD', prefix .. 'running', 'NX', 0, id)
        return {'ok'}
    end
    leave(id)
    redis.call('HDEL', document_key(id), 'worker')
    if ARGV[4] == 'queued' then
        redis.call('ZADD', prefix .. 'queued', ARGV[5], id)
    else
        redis.call('ZADD', prefix .. 'resting', ARGV[6], id)
    end
    return {'ok'}
end
"""

# ARGV[9]: how many documents there may be with it, -1 for any number.
CREATE = """
local id, at_most = ARGV[2], tonumber(ARGV[9])
if redis.call('EXISTS', document_key(id)) == 1 then return {'taken'} end
if at_most >= 0 and count_documents() >= at_most then return {'full'} end
redis.call('DEL', sentences_key(id))
return write(id)
"""

# ARGV[9]: the version that it is expected to have.
UPDATE = """
local id = ARGV[2]
local version = redis.call('HGET', document_key(id), 'version')
if not version then return {'unknown'} end
if version ~= ARGV[9] then return {'changed', version} end
return write(id)
"""

SENTENCES = """
local id, first, last = ARGV[2], ARGV[3], ARGV[4]
local count = redis.call('HGET', document_key(id), 'sentences')
if not count then return {'unknown'} end
if redis.call('LLEN', sentences_key(id)) ~= tonumber(count) then return {'lost'} end
return {'ok', redis.call('LRANGE', sentences_key(id), first, last)}
"""

READ = """
local id = ARGV[2]
local fields = redis.call('HMGET', document_key(id), 'body', 'state', 'version', 'sentences')
if not fields[1] then return {'unknown'} end
if redis.call('LLEN', sentences_key(id)) ~= tonumber(fields[4]) then return {'lost'} end
return {'ok', fields, redis.call('LRANGE', sentences_key(id), 0, -1)}
"""

DELETE = """
local id = ARGV[2]
leave(id)
redis.call('DEL', sentences_key(id))
return redis.call('DEL', document_key(id))
"""

# The oldest of the queued ones and of all whose lease ran out, or ends later than any can (ARGV[4], from now on), among
# those of the models from ARGV[5] on.
CLAIM = """
local worker, lease, longest, models = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), set_from(5)
local now = microseconds()
local best, best_created
local candidates = {}
for _, ids in ipairs({redis.call('ZRANGEBYSCORE', prefix .. 'running', '-inf', string.format('%.0f', now)),
        redis.call('ZRANGEBYSCORE', prefix .. 'running', string.format('(%.0f', now + longest), '+inf')}) do
    for _, id in ipairs(ids) do
        if models[redis.call('HGET', document_key(id), 'model') or ''] then table.insert(candidates, id) end
    end
end
for _, id in ipairs(redis.call('ZRANGE', prefix .. 'queued', 0, -1)) do
    if models[redis.call('HGET', document_key(id), 'model') or ''] then
        table.insert(candidates, id)
        break
    end
end
for _, id in ipairs(candidates) do
    local created = redis.call('HGET', document_key(id), 'created')
    if not created then
        leave(id)
    else
        created = tonumber(created)
        if not best or created < best_created or (created == best_created and id < best) then
            best, best_created = id, created
        end
    end
end
if not best then return {'none'} end
leave(best)
redis.call('ZADD', prefix .. 'running', string.format('%.0f', now + lease), best)
redis.call('HSET', document_key(best), 'state', 'running', 'worker', worker)
redis.call('HINCRBY', document_key(best), 'version', 1)
return {'ok', redis.call('HMGET', document_key(best), 'body', 'state', 'version')}
"""

RENEW = """
local id, worker, lease = ARGV[2], ARGV[3], tonumber(ARGV[4])
if redis.call('EXISTS', document_key(id)) == 0 then return {'unknown'} end
if redis.call('HGET', document_key(id), 'worker') ~= worker then return {'no'} end
redis.call('ZADD', prefix .. 'running', string.format('%.0f', microseconds() + lease), id)
return {'ok'}
"""

# At most ARGV[3]; the models that are served from ARGV[4] on.
EXPIRE = """
local older_than, limit, models = tonumber(ARGV[2]), tonumber(ARGV[3]), set_from(4)
local ids = redis.call('ZRANGEBYSCORE', prefix .. 'resting', '-inf', '(' .. ARGV[2], 'LIMIT', 0, limit)
local now = string.format('%.0f', microseconds())
for _, waiting in ipairs({redis.call('ZRANGE', prefix .. 'queued', 0, -1),
        redis.call('ZRANGEBYSCORE', prefix .. 'running', '-inf', now)}) do
    for _, id in ipairs(waiting) do
        local fields = redis.call('HMGET', document_key(id), 'model', 'touched')
        if fields[1] and not models[fields[1]] and tonumber(fields[2]) < older_than and #ids < limit then
            table.insert(ids, id)
        end
    end
end
for _, id in ipairs(ids) do
    leave(id)
    redis.call('DEL', sentences_key(id), document_key(id))
end
return #ids
"""

COUNT = """
return count_documents()
"""

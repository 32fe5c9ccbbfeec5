"""The keys of the Redis store, and the beginning of its Lua scripts. Redis runs each script as one transaction.

Keys of a document: a hash `document:ID` (body, state, version, model, owner, created, touched, worker, sentences, size,
charge), a list `sentences:ID`, one element per sentence, and a sorted set `changes:ID`, the indices of its sentences by
the version that wrote them last. Sorted sets index the documents, so that no operation costs more when more documents
wait:

- `documents`, `documents:OWNER`, `state:STATE`, `state:STATE:OWNER`: by creation
- `resting`, `resting:OWNER`: documents that are done or have failed, by last touch
- `open:MODEL`: documents that are queued or running, by last touch; the set `models` has the models of such documents
- `queue:MODEL:OWNER`: queued documents, by creation; the set `owners:MODEL` has their owners
- `running:MODEL`: by the end of the lease in microseconds of the server's clock

The hashes `usage` and `usage:OWNER` count charged bytes and open documents. The hash `turns` has owners' tags, the key
`turn` the tag of the last claim (see fair_order.py). `format` is the version of all of this. None of these keys has a
time to live.
"""

from typing import Final

PREFIX: Final = "ringmt:"


COMMON = """
local prefix = ARGV[1]

local function document_key(id) return prefix .. 'document:' .. id end
local function sentences_key(id) return prefix .. 'sentences:' .. id end
local function changes_key(id) return prefix .. 'changes:' .. id end
-- An index as a member of that set: equal scores are sorted by member.
local function member_of(index) return string.format('%010d', index) end
-- The length comes first, or a colon in a name could make two keys one.
local function queue_key(model, owner) return prefix .. 'queue:' .. #model .. ':' .. model .. ':' .. owner end

local function microseconds()
    local time = redis.call('TIME')
    return time[1] * 1000000 + time[2]
end

-- The arguments from the given one on, as a set.
local function set_from(first)
    local set = {}
    for at = first, #ARGV do set[ARGV[at]] = true end
    return set
end

local function find(id)
    local fields = redis.call('HMGET', document_key(id), 'version', 'state', 'model', 'owner', 'created', 'touched',
        'size', 'charge')
    if not fields[1] then return nil end
    return {version = fields[1], state = fields[2], model = fields[3], owner = fields[4], created = fields[5],
        touched = fields[6], size = tonumber(fields[7]), charge = tonumber(fields[8])}
end

local function is_open(document) return document.state == 'queued' or document.state == 'running' end

local function number(text) return string.format('%.0f', text) end

-- Whether a string comes before another in the order of bytes, as in sorted sets: Lua compares by the locale.
local function is_before(text, other)
    for at = 1, math.min(#text, #other) do
        local byte, other_byte = string.byte(text, at), string.byte(other, at)
        if byte ~= other_byte then return byte < other_byte end
    end
    return #text < #other
end

-- The number of members of a sorted set before a place: a score, then a member, which may be missing.
local function rank_of(key, score, member)
    local low = redis.call('ZCOUNT', key, '-inf', '(' .. score)
    local high = low + redis.call('ZCOUNT', key, score, score)
    while low < high do
        local middle = math.floor((low + high) / 2)
        if is_before(redis.call('ZRANGE', key, middle, middle)[1], member) then low = middle + 1 else high = middle end
    end
    return low
end

local function count(document, sign)
    for _, usage in ipairs({prefix .. 'usage', prefix .. 'usage:' .. document.owner}) do
        redis.call('HINCRBY', usage, 'charge', number(sign * document.charge))
        if is_open(document) then redis.call('HINCRBY', usage, 'open', sign) end
    end
end

-- Add a document to every set that it belongs to. `ends`: when its lease ends, if it is running.
local function enter(id, document, ends)
    local model, owner = document.model, document.owner
    redis.call('ZADD', prefix .. 'documents', document.created, id)
    redis.call('ZADD', prefix .. 'documents:' .. owner, document.created, id)
    redis.call('ZADD', prefix .. 'state:' .. document.state, document.created, id)
    redis.call('ZADD', prefix .. 'state:' .. document.state .. ':' .. owner, document.created, id)
    if is_open(document) then
        redis.call('ZADD', prefix .. 'open:' .. model, document.touched, id)
        redis.call('SADD', prefix .. 'models', model)
    else
        redis.call('ZADD', prefix .. 'resting', document.touched, id)
        redis.call('ZADD', prefix .. 'resting:' .. owner, document.touched, id)
    end
    if document.state == 'queued' then
        redis.call('ZADD', queue_key(model, owner), document.created, id)
        redis.call('SADD', prefix .. 'owners:' .. model, owner)
    elseif document.state == 'running' then
        redis.call('ZADD', prefix .. 'running:' .. model, ends, id)
    end
    count(document, 1)
end

-- Remove a document from every set.
local function leave(id, document)
    local model, owner = document.model, document.owner
    redis.call('ZREM', prefix .. 'documents', id)
    redis.call('ZREM', prefix .. 'documents:' .. owner, id)
    redis.call('ZREM', prefix .. 'state:' .. document.state, id)
    redis.call('ZREM', prefix .. 'state:' .. document.state .. ':' .. owner, id)
    if is_open(document) then
        redis.call('ZREM', prefix .. 'open:' .. model, id)
        if redis.call('EXISTS', prefix .. 'open:' .. model) == 0 then redis.call('SREM', prefix .. 'models', model) end
    else
        redis.call('ZREM', prefix .. 'resting', id)
        redis.call('ZREM', prefix .. 'resting:' .. owner, id)
    end
    if document.state == 'queued' then
        redis.call('ZREM', queue_key(model, owner), id)
        if redis.call('EXISTS', queue_key(model, owner)) == 0 then
            redis.call('SREM', prefix .. 'owners:' .. model, owner)
        end
    elseif document.state == 'running' then
        redis.call('ZREM', prefix .. 'running:' .. model, id)
    end
    count(document, -1)
    if redis.call('EXISTS', prefix .. 'documents:' .. owner) == 0 then
        redis.call('DEL', prefix .. 'usage:' .. owner)
    end
end

local function remove(id, document)
    leave(id, document)
    redis.call('DEL', sentences_key(id), changes_key(id), document_key(id))
end

-- The answer when a limit is reached, with the oldest last touch of the finished documents that count for it.
local function full(bound, owner)
    local key = string.sub(bound, 1, 5) == 'owner' and prefix .. 'resting:' .. owner or prefix .. 'resting'
    return {'full', bound, redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2] or false}
end

-- Charged bytes and open documents of an owner or (with '') of all.
local function usage(of)
    local fields = redis.call('HMGET', prefix .. 'usage' .. of, 'charge', 'open')
    return tonumber(fields[1] or 0), tonumber(fields[2] or 0)
end

-- ARGV: 2 id, 3 version, 4 state, 5 created, 6 touched, 7 body, 8 number of sentences, 9 model, 10 growth of what is
-- open, 11 owner, 12 the version that is expected, 13 to 17 the limits (-1: none) of an owner's documents, open
-- documents and bytes, of all documents and bytes; then pairs of index and sentence, by index.
local FIRST = 18
local limits = {}
for at = 13, 17 do limits[at - 12] = tonumber(ARGV[at]) end
local function passes(limit, wanted) return limits[limit] >= 0 and wanted > limits[limit] end

-- The number of sentences after the write; or nil and why it cannot be.
local function fits(kept)
    local number_of = kept
    for at = FIRST, #ARGV, 2 do
        local index = tonumber(ARGV[at])
        if index > number_of then return nil, {'gap', kept} end
        if index == number_of then number_of = number_of + 1 end
    end
    if number_of ~= tonumber(ARGV[8]) then return nil, {'count', number_of} end
    return number_of
end

-- The bytes of the document after the write, which had `size` before.
local function size_after(id, kept, size)
    size = size + #ARGV[7]
    for at = FIRST, #ARGV, 2 do
        local index = tonumber(ARGV[at])
        if index < kept then size = size - #redis.call('LINDEX', sentences_key(id), index) end
        size = size + #ARGV[at + 1]
    end
    return size
end

local function new_document(owner, size)
    local document = {version = ARGV[3], state = ARGV[4], created = ARGV[5], touched = ARGV[6], model = ARGV[9],
        owner = owner, size = size, charge = size}
    if is_open(document) then document.charge = size * tonumber(ARGV[10]) end
    return document
end

local function write(id, kept, document, ends)
    for at = FIRST, #ARGV, 2 do
        local index = tonumber(ARGV[at])
        if index < kept then
            redis.call('LSET', sentences_key(id), index, ARGV[at + 1])
        else
            redis.call('RPUSH', sentences_key(id), ARGV[at + 1])
        end
        redis.call('ZADD', changes_key(id), document.version, member_of(index))
    end
    redis.call('HSET', document_key(id), 'version', document.version, 'state', document.state,
        'created', document.created, 'touched', document.touched, 'body', ARGV[7], 'sentences', ARGV[8],
        'model', document.model, 'owner', document.owner, 'size', number(document.size),
        'charge', number(document.charge))
    if document.state ~= 'running' then redis.call('HDEL', document_key(id), 'worker') end
    enter(id, document, ends)
end
"""

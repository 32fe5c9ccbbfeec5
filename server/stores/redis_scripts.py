"""The Lua scripts of the Redis store. Redis runs each as one transaction; every check comes before the first write.

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

CREATE = """
local id, owner = ARGV[2], ARGV[11]
if redis.call('EXISTS', document_key(id)) == 1 then return {'taken'} end
local _, wrong = fits(0)
if wrong then return wrong end
local document = new_document(owner, size_after(id, 0, 0))
local own_bytes, own_open = usage(':' .. owner)
local all_bytes = usage('')
if passes(1, redis.call('ZCARD', prefix .. 'documents:' .. owner) + 1) then return full('owner_documents', owner) end
if is_open(document) and passes(2, own_open + 1) then return full('owner_open', owner) end
if passes(3, own_bytes + document.charge) then return full('owner_bytes', owner) end
if passes(4, redis.call('ZCARD', prefix .. 'documents') + 1) then return full('documents', owner) end
if passes(5, all_bytes + document.charge) then return full('num_bytes', owner) end
redis.call('DEL', sentences_key(id), changes_key(id))
write(id, 0, document, 0)
return {'ok'}
"""

UPDATE = """
local id = ARGV[2]
local old = find(id)
if not old then return {'unknown'} end
if old.version ~= ARGV[12] then return {'changed', old.version} end
local kept = redis.call('LLEN', sentences_key(id))
local _, wrong = fits(kept)
if wrong then return wrong end
local document = new_document(old.owner,
    size_after(id, kept, old.size - redis.call('HSTRLEN', document_key(id), 'body')))
local more = document.size - old.size
if more > 0 then
    for _, limit in ipairs({3, 5}) do
        if passes(limit, document.size) then return {'too large', number(document.size)} end
    end
    if passes(3, usage(':' .. old.owner) + more) then return full('owner_bytes', old.owner) end
    if passes(5, usage('') + more) then return full('num_bytes', old.owner) end
end
-- A lease stays valid; without a lease, any worker may claim the document.
local ends = old.state == 'running' and redis.call('ZSCORE', prefix .. 'running:' .. old.model, id) or 0
leave(id, old)
write(id, kept, document, ends)
return {'ok'}
"""

DELETE = """
local id = ARGV[2]
local document = find(id)
if not document then return 0 end
remove(id, document)
return 1
"""

# The oldest claimable document of each owner: queued, or running under a lease that has expired or ends later than any
# lease can (ARGV[4], from now on), of the models from ARGV[5] on. Among these, the document of the owner with the
# lowest tag.
CLAIM = """
local worker, lease, longest, models = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), set_from(5)
local now = microseconds()
local oldest = {}
local function consider(id, owner, created)
    local best = oldest[owner]
    if not best or created < best.created or (created == best.created and is_before(id, best.id)) then
        oldest[owner] = {id = id, created = created}
    end
end
for model in pairs(models) do
    for _, owner in ipairs(redis.call('SMEMBERS', prefix .. 'owners:' .. model)) do
        local first = redis.call('ZRANGE', queue_key(model, owner), 0, 0, 'WITHSCORES')
        consider(first[1], owner, tonumber(first[2]))
    end
    local running = prefix .. 'running:' .. model
    for _, range in ipairs({{'-inf', number(now)}, {'(' .. number(now + longest), '+inf'}}) do
        for _, id in ipairs(redis.call('ZRANGEBYSCORE', running, range[1], range[2])) do
            local fields = redis.call('HMGET', document_key(id), 'owner', 'created')
            if fields[1] then
                consider(id, fields[1], tonumber(fields[2]))
            else
                redis.call('ZREM', running, id)
            end
        end
    end
end
local turn = tonumber(redis.call('GET', prefix .. 'turn') or 0)
local best, best_tag
for owner, candidate in pairs(oldest) do
    local tag = math.max(turn, tonumber(redis.call('HGET', prefix .. 'turns', owner) or 0))
    if not best or tag < best_tag or (tag == best_tag and (candidate.created < best.created
            or (candidate.created == best.created and is_before(candidate.id, best.id)))) then
        best, best_tag = candidate, tag
    end
end
if not best then return {'none'} end
local document = find(best.id)
local sentences = tonumber(redis.call('HGET', document_key(best.id), 'sentences'))
redis.call('SET', prefix .. 'turn', number(best_tag))
redis.call('HSET', prefix .. 'turns', document.owner, number(best_tag + math.max(1, sentences)))
leave(best.id, document)
document.state = 'running'
enter(best.id, document, number(now + lease))
redis.call('HSET', document_key(best.id), 'state', 'running', 'worker', worker)
redis.call('HINCRBY', document_key(best.id), 'version', 1)
return {'ok', redis.call('HMGET', document_key(best.id), 'body', 'state', 'version', 'owner')}
"""

RENEW = """
local id, worker, lease = ARGV[2], ARGV[3], tonumber(ARGV[4])
local fields = redis.call('HMGET', document_key(id), 'version', 'worker', 'model')
if not fields[1] then return {'unknown'} end
if fields[2] ~= worker then return {'no'} end
redis.call('ZADD', prefix .. 'running:' .. fields[3], number(microseconds() + lease), id)
return {'ok'}
"""

# At most ARGV[3]; the models that are served from ARGV[4] on.
EXPIRE = """
local older_than, limit, models = '(' .. ARGV[2], tonumber(ARGV[3]), set_from(4)
local now, ids = microseconds(), redis.call('ZRANGEBYSCORE', prefix .. 'resting', '-inf', '(' .. ARGV[2],
    'LIMIT', 0, ARGV[3])
for _, model in ipairs(redis.call('SMEMBERS', prefix .. 'models')) do
    if not models[model] and #ids < limit then
        local leased = redis.call('ZCARD', prefix .. 'running:' .. model)
        for _, id in ipairs(redis.call('ZRANGEBYSCORE', prefix .. 'open:' .. model, '-inf', older_than,
                'LIMIT', 0, limit + leased)) do
            local ends = redis.call('ZSCORE', prefix .. 'running:' .. model, id)
            if #ids < limit and (not ends or tonumber(ends) <= now) then table.insert(ids, id) end
        end
    end
end
for _, id in ipairs(ids) do
    local document = find(id)
    if document then remove(id, document) end
end
return #ids
"""

# At most ARGV[4] documents of owner ARGV[2] become those of ARGV[3]; returns how many.
RENAME = """
local former, owner = ARGV[2], ARGV[3]
local ids = redis.call('ZRANGE', prefix .. 'documents:' .. former, 0, tonumber(ARGV[4]) - 1)
for _, id in ipairs(ids) do
    local document = find(id)
    local ends = document.state == 'running' and redis.call('ZSCORE', prefix .. 'running:' .. document.model, id) or 0
    leave(id, document)
    document.owner = owner
    redis.call('HSET', document_key(id), 'owner', owner)
    enter(id, document, ends)
end
return #ids
"""

# A document of format 2 gets an owner (ARGV[3]) and the other fields of later formats; ARGV[4]: growth of open
# documents. Its id was in one of three sets.
UPGRADE = """
local id, owner = ARGV[2], ARGV[3]
local fields = redis.call('HMGET', document_key(id), 'body', 'state', 'model', 'created', 'touched', 'owner')
if fields[1] and not fields[6] then
    local size = #fields[1]
    for _, sentence in ipairs(redis.call('LRANGE', sentences_key(id), 0, -1)) do size = size + #sentence end
    local document = {state = fields[2], model = fields[3], created = fields[4], touched = fields[5], owner = owner,
        size = size, charge = size}
    if is_open(document) then document.charge = size * tonumber(ARGV[4]) end
    redis.call('HSET', document_key(id), 'owner', owner, 'size', number(size), 'charge', number(document.charge))
    enter(id, document, redis.call('ZSCORE', prefix .. 'running', id) or 0)
end
redis.call('ZREM', prefix .. 'queued', id)
redis.call('ZREM', prefix .. 'running', id)
return {'ok'}
"""

# A document of format 3 gets its place among those of its state, and its sentences theirs among its changes.
INDEX = """
local id = ARGV[2]
local document = find(id)
if not document then return {'unknown'} end
redis.call('ZADD', prefix .. 'state:' .. document.state, document.created, id)
redis.call('ZADD', prefix .. 'state:' .. document.state .. ':' .. document.owner, document.created, id)
for index = 0, redis.call('LLEN', sentences_key(id)) - 1 do
    redis.call('ZADD', changes_key(id), 'NX', 0, member_of(index))
end
return {'ok'}
"""

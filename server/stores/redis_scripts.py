"""The Lua scripts of the Redis store that write. They begin with COMMON of redis_common.py, which describes the keys;
every check comes before the first write.
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

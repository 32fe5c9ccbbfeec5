"""The Lua scripts of the Redis store that only read. They begin with COMMON of redis_common.py, which describes the
keys."""

SENTENCES = """
local id, first, last = ARGV[2], ARGV[3], ARGV[4]
local count = redis.call('HGET', document_key(id), 'sentences')
if not count then return {'unknown'} end
if redis.call('LLEN', sentences_key(id)) ~= tonumber(count) then return {'lost'} end
return {'ok', redis.call('LRANGE', sentences_key(id), first, last)}
"""

READ = """
local id, first, last = ARGV[2], ARGV[3], ARGV[4]
local fields = redis.call('HMGET', document_key(id), 'body', 'state', 'version', 'owner', 'sentences')
if not fields[1] then return {'unknown'} end
if redis.call('LLEN', sentences_key(id)) ~= tonumber(fields[5]) then return {'lost'} end
return {'ok', fields, redis.call('LRANGE', sentences_key(id), first, last)}
"""

COUNT = """
return redis.call('ZCARD', prefix .. 'documents')
"""

# ARGV: 2 an owner's set, or the set of all; 3 the number; 4 and 5 creation and id of the document before, or nothing.
PAGE = """
local key, limit = prefix .. ARGV[2], tonumber(ARGV[3])
local rank = ARGV[4] and rank_of(key, ARGV[4], ARGV[5]) or redis.call('ZCARD', key)
local documents = {}
if rank == 0 then return documents end
local ids = redis.call('ZRANGE', key, math.max(0, rank - limit), rank - 1)
for at = #ids, 1, -1 do
    table.insert(documents, redis.call('HMGET', document_key(ids[at]), 'body', 'state', 'version', 'owner'))
end
return documents
"""

# ARGV: 2 a document's id; 3 and 4 the version and index of a change; 5 the number. The answer has pairs of version and
# index, their sentences, and how many changes follow.
CHANGES = """
local id, key, limit = ARGV[2], changes_key(ARGV[2]), tonumber(ARGV[5])
local fields = redis.call('HMGET', document_key(id), 'body', 'state', 'version', 'owner', 'sentences')
if not fields[1] then return {'unknown'} end
for _, number_of in ipairs({redis.call('LLEN', sentences_key(id)), redis.call('ZCARD', key)}) do
    if number_of ~= tonumber(fields[5]) then return {'lost'} end
end
local rank = rank_of(key, ARGV[3], member_of(ARGV[4]) .. '\0')
local places = redis.call('ZRANGE', key, rank, rank + limit - 1, 'WITHSCORES')
local bodies, first = {}, 1
while first < #places do  -- neighbours are read together, because a list is slow to search
    local last = first
    while places[last + 2] and tonumber(places[last + 2]) == tonumber(places[last]) + 1 do last = last + 2 end
    for _, body in ipairs(redis.call('LRANGE', sentences_key(id), tonumber(places[first]), tonumber(places[last]))) do
        table.insert(bodies, body)
    end
    first = last + 2
end
return {'ok', fields, places, bodies, redis.call('ZCARD', key) - rank - #bodies}
"""

-- Replace the preferences of an account that is not deleted, if nobody else replaced them meanwhile.
-- KEYS: account (HASH)
-- ARGV: new preferences, preferences that they replace ('' for none)
-- Returns: 1 replaced, 0 others stand there, -1 no such account or deleted
local facts = redis.call('HMGET', KEYS[1], 'state', 'preferences')
if not facts[1] or facts[1] == 'deleted' then
  return -1
end
if (facts[2] or '') ~= ARGV[2] then
  return 0
end
if ARGV[1] ~= ARGV[2] then
  redis.call('HSET', KEYS[1], 'preferences', ARGV[1])
  redis.call('HINCRBY', KEYS[1], 'version', 1)
end
return 1

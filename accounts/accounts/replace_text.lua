-- Replace a text of an account that is not deleted, if nobody else replaced it meanwhile.
-- KEYS: account (HASH)
-- ARGV: field, new text, text that it replaces ('' for none)
-- Returns: 1 replaced, 0 another text is stored, -1 no such account or deleted
local facts = redis.call('HMGET', KEYS[1], 'state', ARGV[1])
if not facts[1] or facts[1] == 'deleted' then
  return -1
end
if (facts[2] or '') ~= ARGV[3] then
  return 0
end
if ARGV[2] ~= ARGV[3] then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
  redis.call('HINCRBY', KEYS[1], 'version', 1)
end
return 1

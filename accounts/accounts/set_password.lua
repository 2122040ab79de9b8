#!lua flags=allow-oom
-- Replace the password hash of an account that is not deleted, if nobody else replaced it meanwhile.
-- KEYS: account (HASH)
-- ARGV: new hash, hash it must replace ('' for any)
-- Returns: 1 replaced, 0 another hash stands there, -1 no such account or deleted
local facts = redis.call('HMGET', KEYS[1], 'state', 'password')
if not facts[1] or facts[1] == 'deleted' then
  return -1
end
if ARGV[2] ~= '' and facts[2] ~= ARGV[2] then
  return 0
end
redis.call('HSET', KEYS[1], 'password', ARGV[1])
return 1

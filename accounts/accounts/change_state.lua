#!lua flags=allow-oom
-- Move an account to a state, with the fields that change along; nothing leads out of "deleted".
-- KEYS: account (HASH)
-- ARGV: state, then field, value, field, value, ...
-- Returns: 1 changed, 0 was in that state already, -1 no such account or deleted
local state = redis.call('HGET', KEYS[1], 'state')
if state == ARGV[1] then
  return 0
end
if not state or state == 'deleted' then
  return -1
end
redis.call('HSET', KEYS[1], 'state', unpack(ARGV))
redis.call('HINCRBY', KEYS[1], 'version', 1)
return 1

#!lua flags=allow-oom
-- Move an account to a state, with the fields that change along; nothing leads out of "deleted".
-- KEYS: account (HASH)
-- ARGV: state, '1' if only an account whose owner has requested its deletion changes, then field, value, ...
-- Returns: 1 changed, 0 was in that state already or must not change, -1 no such account or deleted
local row = redis.call('HMGET', KEYS[1], 'state', 'delete_ms')
local state = row[1]
if state == ARGV[1] then
  return 0
end
if not state or state == 'deleted' then
  return -1
end
if ARGV[2] == '1' and (row[2] or '0') == '0' then
  return 0
end
redis.call('HSET', KEYS[1], 'state', ARGV[1], unpack(ARGV, 3))
redis.call('HINCRBY', KEYS[1], 'version', 1)
return 1

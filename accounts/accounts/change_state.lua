#!lua flags=allow-oom
-- Move an account to a state, with the fields that change along; nothing leads out of "deleted".
-- An account whose application was not approved becomes "waiting" instead of "active".
-- KEYS: account (HASH)
-- ARGV: state, '1' if only an account whose owner has requested its deletion changes, then field, value, ...
-- Returns: 1 changed, 0 was in that state already or must not change, -1 no such account or deleted
local row = redis.call('HMGET', KEYS[1], 'state', 'delete_ms', 'reason', 'decided_by', 'refusal')
local state, target = row[1], ARGV[1]
if target == 'active' and (row[3] or '') ~= '' and (not row[4] or (row[5] or '') ~= '') then
  target = 'waiting'
end
if state == target then
  return 0
end
if not state or state == 'deleted' then
  return -1
end
if ARGV[2] == '1' and (row[2] or '0') == '0' then
  return 0
end
redis.call('HSET', KEYS[1], 'state', target, unpack(ARGV, 3))
redis.call('HINCRBY', KEYS[1], 'version', 1)
return 1

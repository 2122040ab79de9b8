#!lua flags=allow-oom
-- Purpose: acquire the migrator's lock, or renew it.
-- KEYS: the lock.
-- ARGV: token, TTL in ms.
-- Returns: 1, or 0 if another migrator holds the lock.

local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1

#!lua flags=allow-oom
-- Purpose: release the migrator's lock.
-- KEYS: the lock.
-- ARGV: token.
-- Returns: 1, or 0 if another migrator holds the lock.

if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
return redis.call('DEL', KEYS[1])

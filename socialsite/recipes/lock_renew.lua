#!lua flags=allow-oom
-- Purpose: let a lock live on, if it is still the caller's.
-- KEYS: the lock.
-- ARGV: token, life in ms from now.
-- Returns: 1, or 0 if it is no longer the caller's.

if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return 0
end
return redis.call("PEXPIRE", KEYS[1], ARGV[2])

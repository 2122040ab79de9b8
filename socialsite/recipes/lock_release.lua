#!lua flags=allow-oom
-- Purpose: give a lock back, if it is still the caller's: somebody else's is never freed.
-- KEYS: the lock.
-- ARGV: token.
-- Returns: 1, or 0 if it was no longer the caller's.

if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return 0
end
return redis.call("DEL", KEYS[1])

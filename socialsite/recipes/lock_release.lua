#!lua flags=allow-oom
-- Purpose: release a lock if the caller's token still holds it. A lock of another token is never released.
-- KEYS: the lock.
-- ARGV: token.
-- Returns: 1, or 0 if the token no longer holds the lock.

if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return 0
end
return redis.call("DEL", KEYS[1])

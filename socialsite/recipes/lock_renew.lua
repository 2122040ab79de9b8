#!lua flags=allow-oom
-- Purpose: extend the TTL of a lock if the caller's token still holds it.
-- KEYS: the lock.
-- ARGV: token, TTL in ms.
-- Returns: 1, or 0 if the token no longer holds the lock.

if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return 0
end
return redis.call("PEXPIRE", KEYS[1], ARGV[2])

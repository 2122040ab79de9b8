#!lua flags=allow-oom
-- Purpose: acquire a free lock and increment its fencing number. allow-oom: work under it may free memory.
-- KEYS: the lock, its fence (one tag).
-- ARGV: token, TTL in ms.
-- Returns: the fencing number (the same one if the token holds the lock already), or 0 if another token holds the lock.

if not redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
  if redis.call("GET", KEYS[1]) ~= ARGV[1] then
    return 0
  end
  return tonumber(redis.call("GET", KEYS[2]))
end
return redis.call("INCR", KEYS[2])

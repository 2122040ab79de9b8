-- Purpose: take a lock that nobody holds, and the next fencing number with it.
-- KEYS: the lock, its fence (one tag).
-- ARGV: token, life in ms.
-- Returns: the fencing number; 0 if somebody holds the lock. A repeated call with the holder's token answers again.

if not redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
  if redis.call("GET", KEYS[1]) ~= ARGV[1] then
    return 0
  end
  return tonumber(redis.call("GET", KEYS[2]))
end
return redis.call("INCR", KEYS[2])

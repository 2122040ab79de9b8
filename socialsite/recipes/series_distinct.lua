-- Purpose: see members in one interval, each counted once (HyperLogLog).
-- KEYS: the interval's sketch.
-- ARGV: when it expires (Unix seconds), then the members.
-- Returns: 1 if the estimate changed, else 0.

local is_new = redis.call("EXISTS", KEYS[1]) == 0
local changed = redis.call("PFADD", KEYS[1], unpack(ARGV, 2))
if is_new then
  redis.call("EXPIREAT", KEYS[1], ARGV[1])
end
return changed

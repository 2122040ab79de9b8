-- Purpose: add members to the HyperLogLog of one interval, which counts each member once.
-- KEYS: the HyperLogLog of the interval.
-- ARGV: expiry in Unix seconds, then the members.
-- Returns: 1 if the estimate changed, else 0.

local is_new = redis.call("EXISTS", KEYS[1]) == 0
local changed = redis.call("PFADD", KEYS[1], unpack(ARGV, 2))
if is_new then
  redis.call("EXPIREAT", KEYS[1], ARGV[1])
end
return changed

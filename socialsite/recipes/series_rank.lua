-- Purpose: add to the scores of one interval's ranking, which keeps its best.
-- KEYS: the interval's sorted set.
-- ARGV: when it expires (Unix seconds), most members to keep, then (member, amount) for each.
-- Returns: how many members it has.

local set, cap = KEYS[1], tonumber(ARGV[2])
local is_new = redis.call("EXISTS", set) == 0
for at = 3, #ARGV, 2 do
  redis.call("ZINCRBY", set, ARGV[at + 1], ARGV[at])
end
-- Trimmed to the cap at twice the cap: who is dropped each time had no time to grow.
if redis.call("ZCARD", set) > 2 * cap then
  redis.call("ZREMRANGEBYRANK", set, 0, -(cap + 1))
end
if is_new then
  redis.call("EXPIREAT", set, ARGV[1])
end
return redis.call("ZCARD", set)

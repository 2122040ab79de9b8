-- Purpose: add to the scores of one interval's ranking, which keeps the members with the highest scores.
-- KEYS: the sorted set of the interval.
-- ARGV: expiry in Unix seconds, number of members to keep, then (member, amount) for each.
-- Returns: the number of members.

local set, cap = KEYS[1], tonumber(ARGV[2])
local is_new = redis.call("EXISTS", set) == 0
for at = 3, #ARGV, 2 do
  redis.call("ZINCRBY", set, ARGV[at + 1], ARGV[at])
end
-- Trim only at twice the cap. If every call trimmed, a new member could never exceed the lowest score.
if redis.call("ZCARD", set) > 2 * cap then
  redis.call("ZREMRANGEBYRANK", set, 0, -(cap + 1))
end
if is_new then
  redis.call("EXPIREAT", set, ARGV[1])
end
return redis.call("ZCARD", set)

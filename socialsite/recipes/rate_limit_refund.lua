#!lua flags=allow-oom
-- Purpose: take back one hit that was counted although another rule, elsewhere, refused the request.
-- KEYS: the counters of the minute the hit was counted in (all of one tag).
-- ARGV: none.
-- Returns: how many counters were lowered; an expired one is left alone, none falls below zero.

local lowered = 0
for _, counter in ipairs(KEYS) do
  if tonumber(redis.call("GET", counter) or 0) > 0 then
    redis.call("DECR", counter)
    lowered = lowered + 1
  end
end
return lowered

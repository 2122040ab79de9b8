#!lua flags=allow-oom
-- Purpose: take back one hit that was counted although another identifier's rule refused the request.
-- KEYS: the counters of the minute in which the hit was counted (all of one tag).
-- ARGV: none.
-- Returns: the number of decremented counters. An expired counter is not created, and no counter falls below zero.

local lowered = 0
for _, counter in ipairs(KEYS) do
  if tonumber(redis.call("GET", counter) or 0) > 0 then
    redis.call("DECR", counter)
    lowered = lowered + 1
  end
end
return lowered

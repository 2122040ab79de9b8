#!lua flags=allow-oom
-- Purpose: count one hit under several rules of one identifier, or under none of them.
-- allow-oom: logging in must work on a full server.
-- KEYS: for each rule its counter of this minute, then its counter of the previous minute (all of one tag).
-- ARGV: ms elapsed in this minute, then for each rule its name and its limit per minute ("0": the rule is off).
-- Returns: {1, the rule with the fewest further hits, these hits, its limit} ("", 0, 0 if all rules are off), or
-- {0, the refusing rule with the longest wait, that wait in ms, its limit}. A refused hit is not counted.

local MINUTE = 60000
local elapsed = tonumber(ARGV[1])

-- The wait is exact if no other hit is counted, because the usage then decreases in this minute and the next.
local function wait_ms(current, previous, limit)
  if current + 1 <= limit and previous > 0 then
    local at = MINUTE - math.floor((limit - current - 1) * MINUTE / previous)
    if at < MINUTE then
      return at - elapsed
    end
  end
  if current == 0 then
    return MINUTE - elapsed
  end
  local at = MINUTE - math.floor((limit - 1) * MINUTE / current)
  return MINUTE - elapsed + math.max(0, at)
end

local refusing, longest, refusing_limit = "", -1, 0
local tightest, remaining, tightest_limit = "", math.huge, 0
for rule = 1, #KEYS / 2 do
  local limit = tonumber(ARGV[2 * rule + 1])
  if limit > 0 then
    local current = tonumber(redis.call("GET", KEYS[2 * rule - 1]) or 0)
    local previous = tonumber(redis.call("GET", KEYS[2 * rule]) or 0)
    if (current + 1) * MINUTE + previous * (MINUTE - elapsed) > limit * MINUTE then
      local wait = wait_ms(current, previous, limit)
      if wait > longest then
        refusing, longest, refusing_limit = ARGV[2 * rule], wait, limit
      end
    end
    local left = limit - current - 1 - math.ceil(previous * (MINUTE - elapsed) / MINUTE)
    if left < remaining then
      tightest, remaining, tightest_limit = ARGV[2 * rule], left, limit
    end
  end
end
if longest >= 0 then
  return {0, refusing, longest, refusing_limit}
end

for rule = 1, #KEYS / 2 do
  if tonumber(ARGV[2 * rule + 1]) > 0 then
    local counter = KEYS[2 * rule - 1]
    if redis.call("INCR", counter) == 1 then
      redis.call("PEXPIRE", counter, 2 * MINUTE)
    end
  end
end
return {1, tightest, tightest == "" and 0 or math.max(remaining, 0), tightest_limit}

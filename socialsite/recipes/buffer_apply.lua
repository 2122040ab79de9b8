#!lua flags=allow-oom
-- Purpose: add a batch to an entity's totals exactly once, however often the script runs.
-- allow-oom: applying a batch lets the flusher delete it, which frees memory.
-- KEYS: the totals.
-- ARGV: id of the batch, number of counts, then (field, amount) for each count, then (field, ms, value) for each value.
-- Returns: 1, or 0 if this batch or a later one was applied before. The batches of an entity are applied in order.

local totals = KEYS[1]
if tonumber(redis.call("HGET", totals, "batch") or 0) >= tonumber(ARGV[1]) then
  return 0
end
redis.call("HSET", totals, "batch", ARGV[1])
local first_value = 3 + 2 * tonumber(ARGV[2])
for at = 3, first_value - 1, 2 do
  redis.call("HINCRBY", totals, "+" .. ARGV[at], ARGV[at + 1])
end
for at = first_value, #ARGV, 3 do
  local field = "=" .. ARGV[at]
  local stored = redis.call("HGET", totals, field)
  if not stored or tonumber(ARGV[at + 1]) >= tonumber(string.match(stored, "^%d+")) then
    redis.call("HSET", totals, field, ARGV[at + 1] .. " " .. ARGV[at + 2])
  end
end
return 1

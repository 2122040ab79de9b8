#!lua flags=allow-oom
-- Purpose: add a batch to an entity's totals, once however often it is asked. allow-oom: what it adds is freed after.
-- KEYS: the totals.
-- ARGV: id of the batch, number of counts, then (field, amount) for each, then (field, ms, value) for each mark.
-- Returns: 1, or 0 if this batch or a younger one had been applied before: batches of an entity come in order.

local totals = KEYS[1]
if tonumber(redis.call("HGET", totals, "batch") or 0) >= tonumber(ARGV[1]) then
  return 0
end
redis.call("HSET", totals, "batch", ARGV[1])
local marks = 3 + 2 * tonumber(ARGV[2])
for at = 3, marks - 1, 2 do
  redis.call("HINCRBY", totals, "+" .. ARGV[at], ARGV[at + 1])
end
for at = marks, #ARGV, 3 do
  local field = "=" .. ARGV[at]
  local held = redis.call("HGET", totals, field)
  if not held or tonumber(ARGV[at + 1]) >= tonumber(string.match(held, "^%d+")) then
    redis.call("HSET", totals, field, ARGV[at + 1] .. " " .. ARGV[at + 2])
  end
end
return 1

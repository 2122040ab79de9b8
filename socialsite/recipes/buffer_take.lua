#!lua flags=allow-oom
-- Purpose: rename an entity's buffer to a batch in one step, or take a batch whose lease has expired.
-- KEYS: the buffer, the batch, the pending set, the taken set (one tag).
-- ARGV: entity, now in ms, duration of a flusher's lease on a batch in ms.
-- Returns: the batch as a flat list of fields and values; empty if there is no batch or another flusher has taken it.

local buffer, batch, pending, taken = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local entity, now = ARGV[1], tonumber(ARGV[2])
local taken_at = redis.call("ZSCORE", taken, entity)
if taken_at and now - tonumber(taken_at) < tonumber(ARGV[3]) then
  return {}
end
if not taken_at or redis.call("EXISTS", batch) == 0 then
  redis.call("ZREM", pending, entity)
  if redis.call("EXISTS", buffer) == 0 then
    return {}
  end
  redis.call("RENAME", buffer, batch)
end
redis.call("ZADD", taken, now, entity)
return redis.call("HGETALL", batch)

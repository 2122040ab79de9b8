-- Purpose: add counts and values to an entity's buffer. A new buffer receives a batch id and becomes pending.
-- KEYS: the buffer, the pending set, the last batch id of the partition (all of one tag).
-- ARGV: now in ms, entity, number of counts, then (field, amount) for each, then (field, ms, value) for each value.
-- Returns: 1 if the buffer is new, else 0.

local buffer, now = KEYS[1], tonumber(ARGV[1])
local is_new = redis.call("EXISTS", buffer) == 0
if is_new then
  -- Ids must always increase. If the server lost the last id, the clock gives a higher one.
  local id = string.format("%.0f", math.max(tonumber(redis.call("GET", KEYS[3]) or 0) + 1, now))
  redis.call("SET", KEYS[3], id)
  redis.call("HSET", buffer, "id", id)
  redis.call("ZADD", KEYS[2], ARGV[1], ARGV[2])
end

local first_value = 4 + 2 * tonumber(ARGV[3])
for at = 4, first_value - 1, 2 do
  redis.call("HINCRBY", buffer, "+" .. ARGV[at], ARGV[at + 1])
end
for at = first_value, #ARGV, 3 do
  local field = "=" .. ARGV[at]
  local stored = redis.call("HGET", buffer, field)
  if not stored or tonumber(ARGV[at + 1]) >= tonumber(string.match(stored, "^%d+")) then
    redis.call("HSET", buffer, field, ARGV[at + 1] .. " " .. ARGV[at + 2])
  end
end
return is_new and 1 or 0

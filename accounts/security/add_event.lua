#!lua flags=allow-oom
-- Add an event to the newest events of an account.
-- KEYS: events (LIST)
-- ARGV: event, number of events to keep (0: add nothing), TTL in ms
-- Returns: the number of events that the list had, or 0
local cap = tonumber(ARGV[2])
if cap == 0 then
  return 0
end
local count = redis.call('LPUSH', KEYS[1], ARGV[1])
redis.call('LTRIM', KEYS[1], 0, cap - 1)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return count - 1

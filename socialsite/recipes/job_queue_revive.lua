#!lua
-- Purpose: an operator gives a dead letter another chance: it becomes a new job.
-- KEYS: the dead letters, the stream.
-- ARGV[1]: id of the dead letter.
-- Returns: 1, or 0 if there is none.

local entry = redis.call("XRANGE", KEYS[1], ARGV[1], ARGV[1])[1]
if not entry then
  return 0
end
for field = 1, #entry[2], 2 do
  if entry[2][field] == "payload" then
    redis.call("XADD", KEYS[2], "*", "payload", entry[2][field + 1])
  end
end
redis.call("XDEL", KEYS[1], ARGV[1])
return 1

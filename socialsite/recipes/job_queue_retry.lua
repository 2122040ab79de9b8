#!lua
-- Purpose: turn a dead letter into a new job.
-- KEYS: the dead letters, the stream.
-- ARGV: id of the dead letter.
-- Returns: 1, or 0 if there is no such dead letter.

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

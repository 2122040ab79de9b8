#!lua flags=allow-oom
-- Purpose: a worker leaves. What it still has pending is free for others from now on.
-- KEYS: the stream, the worker's heartbeat.
-- ARGV: group, worker.
-- Returns: how many jobs it left pending.

redis.call("DEL", KEYS[2])
local left = #redis.call("XPENDING", KEYS[1], ARGV[1], "-", "+", 100, ARGV[2])
if left == 0 then
  redis.call("XGROUP", "DELCONSUMER", KEYS[1], ARGV[1], ARGV[2])
end
return left

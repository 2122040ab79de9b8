#!lua flags=allow-oom
-- Purpose: remove a worker that stops. Other workers may claim its pending jobs immediately.
-- KEYS: the stream, the heartbeat of the worker.
-- ARGV: group, worker.
-- Returns: the number of jobs that are still pending, at most 100.

redis.call("DEL", KEYS[2])
local left = #redis.call("XPENDING", KEYS[1], ARGV[1], "-", "+", 100, ARGV[2])
if left == 0 then
  redis.call("XGROUP", "DELCONSUMER", KEYS[1], ARGV[1], ARGV[2])
end
return left

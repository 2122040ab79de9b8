#!lua flags=allow-oom
-- Purpose: a worker says that it is alive. allow-oom: on a full server the living must not look dead.
-- KEYS[1]: the worker's heartbeat.
-- ARGV: which process it is (liveness.py), how long it is believed, in ms.
-- Returns: OK.
return redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])

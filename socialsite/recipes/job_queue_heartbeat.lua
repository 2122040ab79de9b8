#!lua flags=allow-oom
-- Purpose: record that a worker is alive. allow-oom: on a full server, live workers must not look dead.
-- KEYS: the heartbeat of the worker.
-- ARGV: identity of the worker's process (process_identity.py), TTL in ms.
-- Returns: OK.
return redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])

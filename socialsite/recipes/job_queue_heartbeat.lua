#!lua flags=allow-oom
-- Purpose: record that a worker is alive, and list it as a consumer, which Redis 7.0 does only with its first job.
-- allow-oom: on a full server, live workers must not look dead.
-- KEYS: the heartbeat of the worker, the stream.
-- ARGV: identity of the worker's process (process_identity.py), TTL in ms, group, worker.
-- Returns: OK.
redis.pcall("XGROUP", "CREATECONSUMER", KEYS[2], ARGV[3], ARGV[4]) -- an error if the group does not exist yet
return redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])

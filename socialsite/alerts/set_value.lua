#!lua flags=allow-oom
-- Purpose: store a value. allow-oom: a full server must not stop or repeat the alert that says so.
-- KEYS: the value (STRING).
-- ARGV: the new value.
-- Returns: OK.
return redis.call("SET", KEYS[1], ARGV[1])

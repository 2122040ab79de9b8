#!lua flags=allow-oom
-- Purpose: claim an interval of a periodic task. allow-oom: a full server needs the tasks that free memory or tell it.
-- KEYS: the claim (STRING).
-- ARGV: length of the claim in ms.
-- Returns: OK, or nil if the interval is claimed.
return redis.call("SET", KEYS[1], "", "NX", "PX", ARGV[1])

#!lua flags=allow-oom
-- Purpose: claim an interval of a periodic task. allow-oom: a full server needs the tasks that free memory or tell it.
-- KEYS: the claim (STRING).
-- ARGV: length of the claim in ms.
-- Returns: 1 if the interval was not claimed, else 0.
return redis.call("SET", KEYS[1], 1, "NX", "PX", ARGV[1]) and 1 or 0

#!lua flags=allow-oom
-- Purpose: write an order of staff down. allow-oom: on a full server staff must still be able to act.
-- KEYS: the trail (STREAM).
-- ARGV: how many entries to keep (about), then field, value, ...
-- Returns: the entry's id.
return redis.call("XADD", KEYS[1], "MAXLEN", "~", ARGV[1], "*", unpack(ARGV, 2))

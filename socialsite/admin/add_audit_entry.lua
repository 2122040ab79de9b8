#!lua flags=allow-oom
-- Purpose: add an entry to the audit log. allow-oom: staff must be able to act on a full server, too.
-- KEYS: the audit log (STREAM).
-- ARGV: the approximate number of entries to keep, then field, value, ...
-- Returns: the entry's id.
return redis.call("XADD", KEYS[1], "MAXLEN", "~", ARGV[1], "*", unpack(ARGV, 2))

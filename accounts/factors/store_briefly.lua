#!lua flags=allow-oom
-- Store a value of a log-in for some minutes, also if the memory of the server is full.
-- KEYS: pending log-in or challenge (STRING)
-- ARGV: value, TTL in ms
-- Returns: 1
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1

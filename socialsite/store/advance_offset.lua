#!lua flags=allow-oom
-- Purpose: change data, so that the next WAIT of this connection covers all earlier writes of the server.
-- KEYS: a key that does not exist. It is deleted again.
-- ARGV: none.
-- Returns: nothing.

redis.call('SET', KEYS[1], '')
redis.call('DEL', KEYS[1])

#!lua flags=allow-oom
-- Return and delete an authorization code, so that it is used once.
-- KEYS: code (STRING)
-- ARGV: none
-- Returns: the value, or nil if there is no such code
local value = redis.call('GET', KEYS[1])
redis.call('DEL', KEYS[1])
return value

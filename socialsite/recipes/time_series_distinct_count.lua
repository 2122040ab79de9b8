-- Purpose: estimate the number of distinct members of several intervals together.
-- KEYS: their HyperLogLogs (one tag).
-- ARGV: none.
-- Returns: the estimate; its standard error is 0.81%.

return redis.call("PFCOUNT", unpack(KEYS))

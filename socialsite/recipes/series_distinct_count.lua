-- Purpose: how many distinct members several intervals saw together.
-- KEYS: their sketches (one tag).
-- ARGV: none.
-- Returns: the estimate, within 0.81% as a rule.

return redis.call("PFCOUNT", unpack(KEYS))

-- Purpose: raise a number, never lower it.
-- KEYS: the number (STRING).
-- ARGV: the minimum value of the number afterwards.
-- Returns: the previous value, or 0 if the key did not exist.

local before = redis.call('GET', KEYS[1]) or '0'
if tonumber(ARGV[1]) > tonumber(before) then
  redis.call('SET', KEYS[1], ARGV[1])
end
return tonumber(before)

-- Purpose: raise a number, never lower it.
-- KEYS: the number (STRING).
-- ARGV: the least value that it has afterwards.
-- Returns: the value before; 0 if there was none.

local before = redis.call('GET', KEYS[1]) or '0'
if tonumber(ARGV[1]) > tonumber(before) then
  redis.call('SET', KEYS[1], ARGV[1])
end
return tonumber(before)

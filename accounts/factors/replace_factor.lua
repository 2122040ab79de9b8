#!lua flags=allow-oom
-- Replace, add or delete one value of the factors of an account, if nobody else changed it meanwhile.
-- KEYS: factors (HASH)
-- ARGV: field, value that it must have ('' absent), new value ('' delete), largest number of fields
-- Returns: 1 replaced, 0 the field has another value, -1 there is no room for another field
local value = redis.call('HGET', KEYS[1], ARGV[1])
if (value or '') ~= ARGV[2] then
  return 0
end
if ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], ARGV[1])
  return 1
end
if not value and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[4]) then
  return -1
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1

#!lua flags=allow-oom
-- Purpose: replace a value if it is still the one that was read. allow-oom: staff can change a full site.
-- KEYS: the value (STRING).
-- ARGV: the value that was read ("" if it was absent), the new value.
-- Returns: 1 if the value was replaced, else 0.
if (redis.call("GET", KEYS[1]) or "") ~= ARGV[1] then
  return 0
end
redis.call("SET", KEYS[1], ARGV[2])
return 1

#!lua flags=allow-oom
-- Set or clear a restriction of an account, and raise its version if it changes.
-- KEYS: account (HASH)
-- ARGV: field (a number), bit to change (0: the whole number), 1 or 0 for the bit or else the number
-- Returns: 1 changed, 0 as before, -1 no such account or deleted
local state = redis.call('HGET', KEYS[1], 'state')
if not state or state == 'deleted' then
  return -1
end
local old = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or 0)
local bit_value, new = tonumber(ARGV[2]), tonumber(ARGV[3])
if bit_value > 0 then
  local is_set = math.floor(old / bit_value) % 2
  new = old + (new - is_set) * bit_value
end
if new == old then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', new))
redis.call('HINCRBY', KEYS[1], 'version', 1)
return 1

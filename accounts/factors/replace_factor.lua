#!lua flags=allow-oom
-- Replace, add or delete one value of the factors of an account, if nobody else changed it meanwhile.
-- KEYS: factors (HASH)
-- ARGV: field, value that it must have ('' absent), new value ('' delete), largest number of passkeys
-- Returns: 1 replaced, 0 the field has another value, -1 there is no room for another passkey
local value = redis.call('HGET', KEYS[1], ARGV[1])
if (value or '') ~= ARGV[2] then
  return 0
end
if ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], ARGV[1])
  return 1
end
local others = redis.call('HEXISTS', KEYS[1], 'totp') + redis.call('HEXISTS', KEYS[1], 'codes')
local is_new_passkey = not value and string.sub(ARGV[1], 1, 8) == 'passkey:'
if is_new_passkey and redis.call('HLEN', KEYS[1]) - others >= tonumber(ARGV[4]) then
  return -1
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1

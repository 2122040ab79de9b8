#!lua flags=allow-oom
-- Set the bytes of an account in the total of the site, unless a newer change is stored. The call may be repeated.
-- KEYS[1] the HASH of all accounts with pictures
-- ARGV    account id, its total in bytes, the number of its changes
-- Returns the total of the site
local stored = redis.call('HGET', KEYS[1], ARGV[1])
local former, changes = 0, -1
if stored then
  local space = string.find(stored, ' ', 1, true)
  former, changes = tonumber(string.sub(stored, 1, space - 1)), tonumber(string.sub(stored, space + 1))
end
if tonumber(ARGV[3]) > changes then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' ' .. ARGV[3])
  redis.call('HINCRBY', KEYS[1], 'total', tonumber(ARGV[2]) - former)
end
return tonumber(redis.call('HGET', KEYS[1], 'total') or 0)

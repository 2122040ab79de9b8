-- Replace the prefixes by which an account is found.
-- KEYS[1] prefixes (ZSET), KEYS[2] the stored prefixes of each account (HASH)
-- ARGV[1] account id, ARGV[2..] prefixes. Without prefixes the account is removed.
-- returns 1 if the prefixes changed, 0 if not
local id, now = ARGV[1], {}
for number = 2, #ARGV do
  now[#now + 1] = ARGV[number]
end
local before = redis.call('HGET', KEYS[2], id)
local after = table.concat(now, '\0')
if (before or '') == after then
  return 0
end
for start in string.gmatch(before or '', '%Z+') do
  redis.call('ZREM', KEYS[1], start .. '\0' .. id)
end
for _, start in ipairs(now) do
  redis.call('ZADD', KEYS[1], 0, start .. '\0' .. id)
end
if #now > 0 then
  redis.call('HSET', KEYS[2], id, after)
else
  redis.call('HDEL', KEYS[2], id)
end
return 1

-- Store the choices of one account in the poll of a post, and count them. The first choices of an account stay.
-- KEYS[1] post, [2] votes (ZSET), [3] tally (HASH)
-- ARGV[1] account, [2] choices as a number with one bit for each option, [3] round of the poll, [4] now in ms
-- returns 1 (stored), 0 (the account has voted before), -1 (no such poll or round), -2 (the poll has ended)
local held = redis.call('GET', KEYS[1])
local is_packed, post = pcall(cmsgpack.unpack, held or '')
local details = is_packed and type(post) == 'table' and post[11]
local poll = type(details) == 'table' and details[5]
if type(poll) ~= 'table' or poll[4] ~= tonumber(ARGV[3]) then return -1 end
if tonumber(ARGV[4]) >= poll[3] then return -2 end
if redis.call('ZADD', KEYS[2], 'NX', ARGV[2], ARGV[1]) == 0 then return 0 end
local choices = tonumber(ARGV[2])
for option = 0, #poll[1] - 1 do
  if bit.band(choices, bit.lshift(1, option)) ~= 0 then redis.call('HINCRBY', KEYS[3], option, 1) end
end
redis.call('HINCRBY', KEYS[3], 'voters', 1)
return 1

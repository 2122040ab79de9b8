#!lua flags=allow-oom
-- Remove the choices of a deleted account from a poll.
-- KEYS[1] votes (ZSET), [2] tally (HASH)
-- ARGV[1] account
-- returns 1 if the account had voted, else 0
local choices = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not choices then return 0 end
redis.call('ZREM', KEYS[1], ARGV[1])
choices = tonumber(choices)
for option = 0, 30 do
  if bit.band(choices, bit.lshift(1, option)) ~= 0 then redis.call('HINCRBY', KEYS[2], option, -1) end
end
if redis.call('HINCRBY', KEYS[2], 'voters', -1) <= 0 then redis.call('DEL', KEYS[2]) end
return 1

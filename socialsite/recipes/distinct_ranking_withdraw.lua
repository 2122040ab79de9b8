-- Undo a use that was counted, unless it was counted again meanwhile.
-- KEYS[1] uses (ZSET), KEYS[2] counts of the interval of the use (ZSET)
-- ARGV[1] account and member, [2] time of the use in ms, [3] member
-- returns 1 if the use was undone
local uses, interval = KEYS[1], KEYS[2]
local at = redis.call('ZSCORE', uses, ARGV[1])
if not at or tonumber(at) ~= tonumber(ARGV[2]) then return 0 end
redis.call('ZREM', uses, ARGV[1])
if redis.call('ZSCORE', interval, ARGV[3]) and tonumber(redis.call('ZINCRBY', interval, -1, ARGV[3])) <= 0 then
  redis.call('ZREM', interval, ARGV[3])
end
return 1

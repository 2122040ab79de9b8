-- Count the members that an account uses. It counts once for each member within the window, so that it is one voice.
-- KEYS[1] uses: account and member with the time in ms (ZSET), KEYS[2] counts of the interval (ZSET)
-- ARGV[1] time of the use in ms, [2] start of the window in ms, [3] maximum number of uses, [4] ms to live of uses,
-- ARGV[5] Unix seconds at which the counts expire, [6] number of members that a trim keeps, [7] account, then members
-- returns the number of members that were counted
local seen, interval, counted = KEYS[1], KEYS[2], 0
redis.call('ZREMRANGEBYSCORE', seen, '-inf', '(' .. ARGV[2])
for at = 8, #ARGV do
  if redis.call('ZADD', seen, 'NX', ARGV[1], ARGV[7] .. ':' .. ARGV[at]) == 1 then
    redis.call('ZINCRBY', interval, 1, ARGV[at])
    counted = counted + 1
  end
end
redis.call('ZREMRANGEBYRANK', seen, 0, -tonumber(ARGV[3]) - 1)
redis.call('PEXPIRE', seen, ARGV[4])
-- The counts are trimmed only above twice the cap, so that new members have time to grow.
if redis.call('ZCARD', interval) > 2 * tonumber(ARGV[6]) then
  redis.call('ZREMRANGEBYRANK', interval, 0, -tonumber(ARGV[6]) - 1)
end
redis.call('EXPIREAT', interval, ARGV[5])
return counted

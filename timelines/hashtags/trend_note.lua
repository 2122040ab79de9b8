-- Count the hashtags of a post. An author counts once within the window, so that one account cannot make a trend.
-- KEYS[1] uses: author and hashtag with the time in ms (ZSET), KEYS[2] counts of the hour (ZSET)
-- ARGV[1] time of the post in ms, [2] start of the window in ms, [3] maximum number of uses, [4] ms to live of uses,
-- ARGV[5] Unix seconds at which the counts expire, [6] number of hashtags that a trim keeps, [7] author, then hashtags
-- returns the number of hashtags that were counted
local seen, hour, counted = KEYS[1], KEYS[2], 0
redis.call('ZREMRANGEBYSCORE', seen, '-inf', '(' .. ARGV[2])
for at = 8, #ARGV do
  if redis.call('ZADD', seen, 'NX', ARGV[1], ARGV[7] .. ':' .. ARGV[at]) == 1 then
    redis.call('ZINCRBY', hour, 1, ARGV[at])
    counted = counted + 1
  end
end
redis.call('ZREMRANGEBYRANK', seen, 0, -tonumber(ARGV[3]) - 1)
redis.call('PEXPIRE', seen, ARGV[4])
-- The counts are trimmed only above twice the cap, so that new hashtags have time to grow.
if redis.call('ZCARD', hour) > 2 * tonumber(ARGV[6]) then
  redis.call('ZREMRANGEBYRANK', hour, 0, -tonumber(ARGV[6]) - 1)
end
redis.call('EXPIREAT', hour, ARGV[5])
return counted

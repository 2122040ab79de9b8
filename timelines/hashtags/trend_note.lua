-- Count the hashtags of a post, each once for an author within the window: one account makes no trend.
-- KEYS[1] who used which tag when, KEYS[2] the hour's ranking
-- ARGV[1] the post's ms, [2] ms before which uses are over, [3] most uses kept, [4] ms they are kept,
-- ARGV[5] Unix seconds at which the ranking goes, [6] most tags it keeps, [7] author, then the tags
-- returns how many tags counted
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
-- Trimmed to the cap only at twice the cap, so that new hashtags have time to grow.
if redis.call('ZCARD', hour) > 2 * tonumber(ARGV[6]) then
  redis.call('ZREMRANGEBYRANK', hour, 0, -tonumber(ARGV[6]) - 1)
end
redis.call('EXPIREAT', hour, ARGV[5])
return counted

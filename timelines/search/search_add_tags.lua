-- Add hashtags to the index of names until the cap is reached.
-- KEYS[1] hashtags (ZSET)
-- ARGV[1] cap, ARGV[2..] hashtags
-- returns the number of new hashtags
local added = 0
for number = 2, #ARGV do
  if redis.call('ZCARD', KEYS[1]) < tonumber(ARGV[1]) then
    added = added + redis.call('ZADD', KEYS[1], 0, ARGV[number])
  end
end
return added

-- Keeps hashtags for completion, up to a cap.
-- KEYS[1] tags
-- ARGV[1] cap | ARGV[2..] hashtags
-- Returns how many are new
local added = 0
for number = 2, #ARGV do
  if redis.call('ZCARD', KEYS[1]) < tonumber(ARGV[1]) then
    added = added + redis.call('ZADD', KEYS[1], 0, ARGV[number])
  end
end
return added

-- Replace the score of a member if it has the expected score: concurrent requests agree on one new score.
-- KEYS[1] set (ZSET)
-- ARGV[1] member, [2] expected score, [3] new score
-- returns the score that stands there now; false where the member is gone
local held = redis.call('ZSCORE', KEYS[1], ARGV[1])
if held and tonumber(held) == tonumber(ARGV[2]) then
  redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])
  return ARGV[3]
end
return held

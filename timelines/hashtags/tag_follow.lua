-- Follow a hashtag, unless the account follows as many hashtags as the cap allows.
-- KEYS[1] followed hashtags of an account
-- ARGV[1] hashtag, [2] now in ms, [3] cap
-- returns 1 if the hashtag is new, 0 if it is already followed, -1 if the cap is reached
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return -1 end
return redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])

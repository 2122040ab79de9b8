-- Follow a hashtag, up to a cap.
-- KEYS[1] followed tags of an account
-- ARGV[1] tag, [2] now ms, [3] cap
-- returns 1 followed now, 0 was followed, -1 the cap is reached
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return -1 end
return redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])

-- Pin a post to the profile of its author, unless the profile has as many pins as it may have.
-- KEYS[1] pins (ZSET)
-- ARGV[1] post, ARGV[2] time in ms, ARGV[3] maximum number of pins
-- returns 1 if the post is pinned now, 0 if it was pinned before, -1 if there are too many pins
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return -1 end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
return 1

-- Store that a post quotes another post. A revoked quote stays revoked.
-- KEYS[1] quotes (ZSET), KEYS[2] the quoted post
-- ARGV[1] id of the quote, ARGV[2] the maximum number of quotes
-- returns 1 if the quote is stored now or was before, 0 if the quoted post does not exist, -1 if it has too many quotes
local post = redis.call('GET', KEYS[2])
if not post or post == 'pending' or post == 'superseded' or string.sub(post, 1, 7) == 'deleted' then return 0 end
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 1 end
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return -1 end
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[1])
return 1

#!lua flags=allow-oom
-- Mark a quote as revoked, which needs no memory.
-- KEYS[1] quotes (ZSET) of the quoted post
-- ARGV[1] id of the quote
-- returns 1 if the quote is revoked now or was before, 0 if there is no such quote
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], 'XX', -tonumber(ARGV[1]), ARGV[1])
return 1

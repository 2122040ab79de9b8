#!lua flags=allow-oom
-- Lay the permanent tombstone over a post, so that nothing revives it.
-- KEYS[1] post, KEYS[2] its counters, KEYS[3] likes, KEYS[4] boosts
-- (its replies and their number stay: they stand on)
-- ARGV[1] author of the post
-- returns 1 deleted now, 2 deleted and its body is in the archive, 0 there was no post
local held = redis.call('GET', KEYS[1])
if not held or held == 'pending' or held == 'superseded' or string.sub(held, 1, 7) == 'deleted' then return 0 end
redis.call('SET', KEYS[1], 'deleted:' .. ARGV[1])
redis.call('DEL', KEYS[2], KEYS[3], KEYS[4])
if string.match(held, '^%d+$') then return 2 end
return 1

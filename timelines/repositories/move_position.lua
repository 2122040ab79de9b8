-- Keep how far a timeline was read: forward only, unless told.
-- KEYS[1] positions (HASH)
-- ARGV[1] timeline, [2] post id, [3] "back" where it may go back too, [4] most timelines
-- returns the post id that stands; false where no more timelines are kept
local held = redis.call('HGET', KEYS[1], ARGV[1])
if not held and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[4]) then return false end
if held and ARGV[3] ~= 'back' and tonumber(held) >= tonumber(ARGV[2]) then return held end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return ARGV[2]

#!lua flags=allow-oom
-- Remove a member from one of the sets of a post, and store the counts that pages show (join_set.lua).
-- KEYS[1] the set (ZSET), [2] counts (STRING), [3] replies, [4] boosts, [5] likes
-- ARGV[1] member, [2] optional score: the member is removed only if it has this score
-- returns the score that the member had, false if it was absent
local held = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not ARGV[2] or held and tonumber(held) == tonumber(ARGV[2]) then redis.call('ZREM', KEYS[1], ARGV[1]) end
local sizes = {}
for i = 3, 5 do sizes[i - 2] = redis.call('ZCARD', KEYS[i]) end
if sizes[1] + sizes[2] + sizes[3] == 0 then
  redis.call('DEL', KEYS[2])
else
  redis.call('SET', KEYS[2], table.concat(sizes, ' '))
end
return held

-- Add a member to one of the sets of a post, and store the sizes of the sets, which pages show as counts.
-- KEYS[1] the set (ZSET), [2] counts (STRING), [3] replies, [4] boosts, [5] likes, [6] the post, if it must exist
-- ARGV[1] member, [2] score. An existing member keeps its score.
-- returns 1 (added), 0 (the member exists) or -1 (the post does not exist), and the score of the member
if KEYS[6] then
  local post = redis.call('GET', KEYS[6])
  if not post or post == 'pending' or post == 'superseded' or string.sub(post, 1, 7) == 'deleted' then
    return {-1, ARGV[2]}
  end
end
local held = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not held then redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1]) end
local sizes = {}
for i = 3, 5 do sizes[i - 2] = redis.call('ZCARD', KEYS[i]) end
redis.call('SET', KEYS[2], table.concat(sizes, ' '))
return {held and 0 or 1, held or ARGV[2]}

#!lua flags=no-writes
-- Return those of the given posts and accounts to which the viewer has a relation. Most pages have none.
-- KEYS[1] liked, [2] boosted, [3] bookmarks, [4] blocks, [5] blockers, [6] mutes, [7] accounts whose boosts are hidden,
-- KEYS[8] exclusive lists (SET), [9] filters (HASH), [10] muted threads (ZSET)
-- ARGV[1] number of post ids, ARGV[2] now in ms, then the post ids, then the account ids
-- returns seven lists of ids for KEYS[1] to [7], the exclusive lists, the values of the filters, and the muted threads
local posts, now = tonumber(ARGV[1]), tonumber(ARGV[2])

local function hits(key, first, last, since)
  local found = {}
  if last < first or redis.call('EXISTS', key) == 0 then return found end
  local scores = redis.call('ZMSCORE', key, unpack(ARGV, first, last))
  for i, score in ipairs(scores) do
    if score and (not since or tonumber(score) > since) then found[#found + 1] = ARGV[first + i - 1] end
  end
  return found
end

local answer = {}
for i = 1, 3 do answer[i] = hits(KEYS[i], 3, 2 + posts) end
for i = 4, 7 do answer[i] = hits(KEYS[i], 3 + posts, #ARGV, i == 6 and now or nil) end
answer[8] = redis.call('SMEMBERS', KEYS[8])
answer[9] = redis.call('HVALS', KEYS[9])
answer[10] = redis.call('ZRANGE', KEYS[10], 0, -1)
return answer

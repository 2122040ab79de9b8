#!lua flags=no-writes
-- Return the most used hashtags. Uses are weighted by hour. Hashtags that too few accounts used are left out.
-- KEYS[..] the counts of each hour (ZSET)
-- ARGV[1] number of hashtags, [2] minimum number of accounts, then the weight of each hour
-- returns hashtag, number of accounts, hashtag, number of accounts, ..., the most used hashtag first
local plain, weighed = {'ZUNION', #KEYS}, {'ZUNION', #KEYS}
for i = 1, #KEYS do
  plain[i + 2], weighed[i + 2] = KEYS[i], KEYS[i]
end
plain[#plain + 1] = 'WITHSCORES'
weighed[#weighed + 1] = 'WEIGHTS'
for i = 1, #KEYS do weighed[#weighed + 1] = ARGV[i + 2] end

local accounts, counts = {}, redis.call(unpack(plain))
for i = 1, #counts, 2 do accounts[counts[i]] = counts[i + 1] end

local best, ranking = {}, redis.call(unpack(weighed))
for i = #ranking, 1, -1 do
  if #best >= 2 * tonumber(ARGV[1]) then break end
  local tag = ranking[i]
  if tonumber(accounts[tag]) >= tonumber(ARGV[2]) then
    best[#best + 1] = tag
    best[#best + 1] = accounts[tag]
  end
end
return best

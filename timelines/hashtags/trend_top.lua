#!lua flags=no-writes
-- The tags that are used most now: uses of each hour by its weight, of tags that enough accounts used.
-- KEYS the hours' rankings
-- ARGV[1] how many tags, [2] fewest accounts of one, then the weight of each hour
-- returns tag, number of accounts, tag, number of accounts, … best first
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

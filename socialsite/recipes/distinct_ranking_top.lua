#!lua flags=no-writes
-- Return the members with the highest weight, which is the sum of the counts by interval. Members of too few accounts are left out.
-- KEYS[..] the counts of each interval (ZSET)
-- ARGV[1] number of members, [2] minimum number of accounts, then the weight of each interval
-- returns member, number of accounts, weight, member, number of accounts, weight, ..., the highest weight first
local plain, weighed = {'ZUNION', #KEYS}, {'ZUNION', #KEYS}
for i = 1, #KEYS do
  plain[i + 2], weighed[i + 2] = KEYS[i], KEYS[i]
end
plain[#plain + 1] = 'WITHSCORES'
weighed[#weighed + 1] = 'WEIGHTS'
for i = 1, #KEYS do weighed[#weighed + 1] = ARGV[i + 2] end
weighed[#weighed + 1] = 'WITHSCORES'

local accounts, counts = {}, redis.call(unpack(plain))
for i = 1, #counts, 2 do accounts[counts[i]] = counts[i + 1] end

local best, ranking = {}, redis.call(unpack(weighed))
for i = #ranking - 1, 1, -2 do
  if #best >= 3 * tonumber(ARGV[1]) then break end
  local member = ranking[i]
  if tonumber(accounts[member]) >= tonumber(ARGV[2]) then
    best[#best + 1] = member
    best[#best + 1] = accounts[member]
    best[#best + 1] = ranking[i + 1]
  end
end
return best

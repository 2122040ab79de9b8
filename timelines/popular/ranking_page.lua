#!lua flags=no-writes
-- Return a page of the members of some rankings, the highest sum of weighted scores first.
-- KEYS[..] the rankings (ZSET)
-- ARGV[1] number of members to leave out, [2] number of members, then the weight of each ranking
-- returns members
local union = {'ZUNION', #KEYS}
for i = 1, #KEYS do union[i + 2] = KEYS[i] end
union[#union + 1] = 'WEIGHTS'
for i = 1, #KEYS do union[#union + 1] = ARGV[i + 2] end

local page, members = {}, redis.call(unpack(union))
local first = #members - tonumber(ARGV[1])
for i = first, math.max(1, first - tonumber(ARGV[2]) + 1), -1 do page[#page + 1] = members[i] end
return page

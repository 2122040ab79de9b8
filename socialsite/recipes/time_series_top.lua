#!lua flags=no-writes
-- Purpose: read the members with the highest scores of several intervals together.
-- KEYS: their sorted sets (one tag).
-- ARGV: the number of members.
-- Returns: a flat list of members and scores, highest score first, equal scores in reverse order of member.

local command = {"ZUNION", #KEYS}
for _, key in ipairs(KEYS) do
  command[#command + 1] = key
end
command[#command + 1] = "WITHSCORES"
local all = redis.call(unpack(command))

local best = {}
for at = #all - 1, math.max(1, #all - 2 * tonumber(ARGV[1]) + 1), -2 do
  best[#best + 1] = all[at]
  best[#best + 1] = all[at + 1]
end
return best

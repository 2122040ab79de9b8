-- Add edges of one partition, both sides at once; an edge that exists keeps its first time.
-- KEYS    outgoing sorted sets, then incoming ones
-- ARGV    number of outgoing keys | for each key: n, then n values (score, member, score, member, ...)
-- Returns how many edges are new
local added, at = 0, 2
for place, key in ipairs(KEYS) do
  local values = tonumber(ARGV[at])
  local new = redis.call('ZADD', key, 'NX', unpack(ARGV, at + 1, at + values))
  if place <= tonumber(ARGV[1]) then
    added = added + new
  end
  at = at + values + 1
end
return added

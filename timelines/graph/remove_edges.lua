-- Remove edges of one partition, both sides at once.
-- KEYS    outgoing sorted sets, then incoming ones
-- ARGV    number of outgoing keys | for each key: n, then n members
-- Returns how many edges were there
local removed, at = 0, 2
for place, key in ipairs(KEYS) do
  local members = tonumber(ARGV[at])
  local gone = redis.call('ZREM', key, unpack(ARGV, at + 1, at + members))
  if place <= tonumber(ARGV[1]) then
    removed = removed + gone
  end
  at = at + members + 1
end
return removed

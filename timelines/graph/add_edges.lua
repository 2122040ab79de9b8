-- Add edges of one partition, both sides at once; an edge that exists keeps its first time.
-- KEYS    for each edge: outgoing sorted set, incoming sorted set
-- ARGV    for each edge: time, target, source
-- Returns how many edges are new
local added = 0
for edge = 1, #KEYS / 2 do
  local at_ms, target, source = ARGV[3 * edge - 2], ARGV[3 * edge - 1], ARGV[3 * edge]
  added = added + redis.call('ZADD', KEYS[2 * edge - 1], 'NX', at_ms, target)
  redis.call('ZADD', KEYS[2 * edge], 'NX', at_ms, source)
end
return added

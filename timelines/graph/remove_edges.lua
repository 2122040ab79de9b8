-- Remove edges of one partition, both sides at once.
-- KEYS    for each edge: outgoing sorted set, incoming sorted set
-- ARGV    for each edge: time (ignored), target, source
-- Returns how many edges were there
local removed = 0
for edge = 1, #KEYS / 2 do
  removed = removed + redis.call('ZREM', KEYS[2 * edge - 1], ARGV[3 * edge - 1])
  redis.call('ZREM', KEYS[2 * edge], ARGV[3 * edge])
end
return removed

-- Write the shard map and the number of this shard, unless the shard already has a map.
-- KEYS[1] the HASH of the shard; KEYS[2..] bitmaps of the partitions (range and list partitioners only)
-- ARGV the bitmaps in the order of their keys, then field, value, field, value, ...
-- returns 1 if the map was written, 0 if the shard has a map
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
for number = 2, #KEYS do redis.call('SET', KEYS[number], ARGV[number - 1]) end
redis.call('HSET', KEYS[1], unpack(ARGV, #KEYS))
return 1

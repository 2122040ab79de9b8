-- Write the map of shards, and this shard's place in it, where no map stands yet.
-- KEYS[1] the shard's HASH; KEYS[2..] bitmaps of the partitions (range and list only)
-- ARGV the bitmaps in the order of their keys, then field, value, field, value, ...
-- returns 1 written, 0 there is a map
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
for place = 2, #KEYS do redis.call('SET', KEYS[place], ARGV[place - 1]) end
redis.call('HSET', KEYS[1], unpack(ARGV, #KEYS))
return 1

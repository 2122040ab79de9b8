-- Replace a keyword filter if it exists: a late edit does not restore a deleted filter.
-- KEYS[1] filters (HASH: number -> MessagePack Filter)
-- ARGV[1] number, [2] value
-- returns 1, or 0 if there is no filter with the number
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1

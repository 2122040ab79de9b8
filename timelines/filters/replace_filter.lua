-- Replace a keyword filter that stands: a late edit never brings a deleted one back.
-- KEYS[1] filters (HASH: number -> MessagePack Filter)
-- ARGV[1] number, [2] value
-- returns 1, or 0 where there is none of the number
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1

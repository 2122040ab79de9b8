#!lua flags=allow-oom
-- Take the lock of the mover, or renew it.
-- KEYS: mover
-- ARGV: token, life of the lock in ms
-- Returns 1, or 0 where another mover holds it
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1

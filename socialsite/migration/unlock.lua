#!lua flags=allow-oom
-- Let go of the lock of the mover.
-- KEYS: mover
-- ARGV: token
-- Returns 1, or 0 where another mover holds it
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
return redis.call('DEL', KEYS[1])

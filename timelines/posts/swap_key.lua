-- Replace the value of an idempotency key if it is absent or has the expected value.
-- KEYS[1] idempotency key
-- ARGV[1] expected value, ARGV[2] new value, ARGV[3] seconds to live
-- returns the value that is stored afterwards
local held = redis.call('GET', KEYS[1])
if held == ARGV[1] or not held then
  redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
  return ARGV[2]
end
return held

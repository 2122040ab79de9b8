-- Move postponed jobs to the stream of their queue.
-- KEYS[1] postponed jobs (ZSET: payload -> ms), [2] unfinished jobs (STREAM)
-- ARGV[1] now in ms, [2] the largest number of jobs
-- returns the number of moved jobs
local payloads = redis.call('ZRANGE', KEYS[1], '-inf', ARGV[1], 'BYSCORE', 'LIMIT', 0, ARGV[2])
for _, payload in ipairs(payloads) do
  redis.call('XADD', KEYS[2], '*', 'payload', payload)
  redis.call('ZREM', KEYS[1], payload)
end
return #payloads

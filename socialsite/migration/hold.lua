#!lua flags=allow-oom
-- Renew the lease of a process and tell it what the map says.
-- KEYS: record, leases, seen, mover
-- ARGV: process, life of the lease in ms, epoch it follows, epoch it knows
-- Returns {epoch, body of the record or nil where known, 1 while a mover is at work, 1 if the lease had not ended}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local until_ms = redis.call('ZSCORE', KEYS[2], ARGV[1])
redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - 86400000)
if redis.call('HGET', KEYS[3], ARGV[1]) ~= ARGV[3] then
  redis.call('HSET', KEYS[3], ARGV[1], ARGV[3])
end
local epoch = redis.call('HGET', KEYS[1], 'epoch') or '0'
local body = false
if epoch ~= ARGV[4] then
  body = redis.call('HGET', KEYS[1], 'body')
end
local held = 0
if until_ms and tonumber(until_ms) >= now then
  held = 1
end
return {epoch, body, redis.call('EXISTS', KEYS[4]), held}

#!lua flags=allow-oom
-- Purpose: renew the lease of a process and return the placement map if the process does not know it.
-- KEYS: the record, the leases, the followed epochs, the migrator's lock.
-- ARGV: process, TTL of the lease in ms, epoch that the process follows, epoch that it knows.
-- Returns: {epoch, body (nil if the epoch is known), 1 if a migrator exists, 1 if the lease had not expired}.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expires_ms = redis.call('ZSCORE', KEYS[2], ARGV[1])
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
local had_lease = 0
if expires_ms and tonumber(expires_ms) >= now then
  had_lease = 1
end
return {epoch, body, redis.call('EXISTS', KEYS[4]), had_lease}

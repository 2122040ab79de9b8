#!lua flags=allow-oom
-- Store a new session and enter it in its account's index; past the cap the longest unused ones end.
-- KEYS: session (STRING), index (ZSET)
-- ARGV: session id, value, now ms, TTL of the session ms, idle time ms, cap
-- Returns: the ids of the sessions ended for room
local now = tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - tonumber(ARGV[5]))
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[4])
redis.call('ZADD', KEYS[2], now, ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[5])
local over = redis.call('ZCARD', KEYS[2]) - tonumber(ARGV[6])
if over <= 0 then
  return {}
end
local ended = redis.call('ZRANGE', KEYS[2], 0, over - 1)
redis.call('ZREMRANGEBYRANK', KEYS[2], 0, over - 1)
return ended

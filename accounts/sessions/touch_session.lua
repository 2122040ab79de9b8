#!lua flags=allow-oom
-- Note that an open session was used; never moves its last use back, never opens an ended one.
-- KEYS: session (STRING), index (ZSET)
-- ARGV: session id, now ms, TTL of the session ms, idle time ms
-- Returns: 1 noted, 0 the session has ended
if not redis.call('ZSCORE', KEYS[2], ARGV[1]) then
  return 0
end
redis.call('ZADD', KEYS[2], 'XX', 'GT', ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
return 1

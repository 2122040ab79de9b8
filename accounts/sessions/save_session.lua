#!lua flags=allow-oom
-- Replace the value of a session that is still open: a late save never brings an ended one back.
-- KEYS: session (STRING), index (ZSET)
-- ARGV: session id, value
-- Returns: 1 saved, 0 the session has ended
if not redis.call('ZSCORE', KEYS[2], ARGV[1]) then
  return 0
end
if not redis.call('SET', KEYS[1], ARGV[2], 'XX', 'KEEPTTL') then
  return 0
end
return 1

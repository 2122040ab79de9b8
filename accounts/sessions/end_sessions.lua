#!lua flags=allow-oom
-- End the sessions whose keys are given; with "all", also every other one in the index but the one kept.
-- KEYS: index (ZSET), then any number of sessions (STRING) to delete
-- ARGV: "all" or "these", session id to keep ('' for none), then the ids of the sessions to delete
-- Returns: number of sessions taken out of the index
local before = redis.call('ZCARD', KEYS[1])
local kept = ARGV[2] ~= '' and redis.call('ZSCORE', KEYS[1], ARGV[2])
for i = 2, #KEYS do
  redis.call('DEL', KEYS[i])
  redis.call('ZREM', KEYS[1], ARGV[i + 1])
end
if ARGV[1] == 'all' then
  local ttl = redis.call('PTTL', KEYS[1])
  redis.call('DEL', KEYS[1])
  if kept then
    redis.call('ZADD', KEYS[1], kept, ARGV[2])
    redis.call('PEXPIRE', KEYS[1], math.max(ttl, 1))
  end
end
return before - redis.call('ZCARD', KEYS[1])

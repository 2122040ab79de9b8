#!lua flags=allow-oom
-- Delete an account that was never approved. A sign-up may then use its handle and its id.
-- KEYS: account (HASH)
-- ARGV: field, value, field, value, ... that the deleted account has
-- Returns: 1 deleted, 0 the account does not wait
if redis.call('HGET', KEYS[1], 'state') ~= 'waiting' then
  return 0
end
redis.call('HSET', KEYS[1], 'state', 'deleted', 'freed', '1', unpack(ARGV))
redis.call('HDEL', KEYS[1], 'reason', 'refusal', 'network', 'decided_by', 'decided_ms', 'delete_ms')
redis.call('HINCRBY', KEYS[1], 'version', 1)
return 1

#!lua flags=allow-oom
-- Approve or refuse an account that waits; only the first decision counts.
-- KEYS: account (HASH)
-- ARGV: id of the account that decides, ms of the decision, state from now on, text of a refusal,
--       ms at which a refused account is deleted (0 for an approved one)
-- Returns: 0 decided, the id of the account that decided before, -1 the account does not wait
local row = redis.call('HMGET', KEYS[1], 'decided_by', 'state', 'delete_ms')
if row[1] then
  return tonumber(row[1])
end
if row[2] ~= 'waiting' or (row[3] and row[3] ~= '0') then
  return -1
end
redis.call('HSET', KEYS[1], 'decided_by', ARGV[1], 'decided_ms', ARGV[2], 'state', ARGV[3], 'refusal', ARGV[4],
  'delete_ms', ARGV[5])
redis.call('HDEL', KEYS[1], 'network')
redis.call('HINCRBY', KEYS[1], 'version', 1)
return 0

#!lua flags=allow-oom
-- Purpose: write the next epoch of the placement map if the stored epoch and migrator match the arguments.
-- KEYS: the record, the stream of changes, the migrator's lock.
-- ARGV: token of the migrator ("": no migrator may exist), epoch to replace, next epoch, body.
-- Returns: 1, or 0 if the epoch or the migrator does not match.

if redis.call('GET', KEYS[3]) ~= (ARGV[1] ~= '' and ARGV[1] or false) then
  return 0
end
if (redis.call('HGET', KEYS[1], 'epoch') or '0') ~= ARGV[2] then
  return 0
end
redis.call('HSET', KEYS[1], 'epoch', ARGV[3], 'body', ARGV[4])
redis.call('XADD', KEYS[2], 'MAXLEN', 16, ARGV[3] .. '-1', 'epoch', ARGV[3])
return 1

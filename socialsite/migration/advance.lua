#!lua flags=allow-oom
-- Write the next epoch of the map: by the mover that holds the lock, or, with an empty token, where none does.
-- KEYS: record, changes, mover
-- ARGV: token of the mover or '', epoch to replace, next epoch, body
-- Returns 1, or 0 where the map or its mover is another
if redis.call('GET', KEYS[3]) ~= (ARGV[1] ~= '' and ARGV[1] or false) then
  return 0
end
if (redis.call('HGET', KEYS[1], 'epoch') or '0') ~= ARGV[2] then
  return 0
end
redis.call('HSET', KEYS[1], 'epoch', ARGV[3], 'body', ARGV[4])
redis.call('XADD', KEYS[2], 'MAXLEN', 16, ARGV[3] .. '-1', 'epoch', ARGV[3])
return 1

-- Set fields of a list if it exists and belongs to the owner. A deleted list stays deleted.
-- KEYS[1] the list's hash
-- ARGV    owner, then field and value, as many as there are
-- Returns 1, or 0 if the list is absent, of another owner, or being deleted (a deletion may be repeated)
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then
  return 0
end
if ARGV[2] ~= 'deleted' and redis.call('HEXISTS', KEYS[1], 'deleted') == 1 then
  return 0
end
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
return 1

-- Set fields of a list, where the list stands and is the owner's: nothing revives a deleted one.
-- KEYS[1] the list's hash
-- ARGV    owner, then field and value, as many as there are
-- Returns 1 if it was done, 0 where the list is absent, another's, or being deleted (but that may be repeated)
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then
  return 0
end
if ARGV[2] ~= 'deleted' and redis.call('HEXISTS', KEYS[1], 'deleted') == 1 then
  return 0
end
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
return 1

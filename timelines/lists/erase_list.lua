-- Erase a list except for its owner, so that a repeated deletion succeeds (docs/reference/interface.md, Repeating).
-- KEYS[1] the list's hash
-- ARGV    ms that its trace lives
-- Returns nothing of use
if redis.call('HEXISTS', KEYS[1], 'owner') == 0 then
  redis.call('DEL', KEYS[1])
  return 0
end
redis.call('HSET', KEYS[1], 'deleted', 1)
redis.call('HDEL', KEYS[1], 'title', 'created_ms', 'replies', 'operation', 'parts', 'description', 'public_ms')
redis.call('PEXPIRE', KEYS[1], ARGV[1], 'NX')
return 1

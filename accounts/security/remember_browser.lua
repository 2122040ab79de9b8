#!lua flags=allow-oom
-- Store a browser in which an account is signed in, and delete browsers for which there is no room.
-- KEYS: browsers (HASH)
-- ARGV: id, value, TTL in ms, then the ids to delete
-- Returns: 1 if the browser is new, 0 if it was stored before
local added = redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
for i = 4, #ARGV do
  redis.call('HDEL', KEYS[1], ARGV[i])
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return added

#!lua flags=allow-oom
-- Count the bytes of a picture for its account. The call may be repeated.
-- KEYS[1] the HASH of the account's pictures
-- ARGV    id of the picture, its bytes (0 removes it), maximum total, maximum number of pictures (0: no maximum)
-- Returns {total, changes}, or {-1, 0} if a new picture would exceed a maximum
local total = tonumber(redis.call('HGET', KEYS[1], 'total') or 0)
local former = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or 0)
local bytes, most, number = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if former == 0 and bytes > 0 then
  if most > 0 and total + bytes > most or number > 0 and redis.call('HLEN', KEYS[1]) >= number + 2 then
    return {-1, 0}
  end
end
if former == bytes then
  return {total, tonumber(redis.call('HGET', KEYS[1], 'changes') or 0)}
end
if bytes > 0 then
  redis.call('HSET', KEYS[1], ARGV[1], bytes)
else
  redis.call('HDEL', KEYS[1], ARGV[1])
end
total = redis.call('HINCRBY', KEYS[1], 'total', bytes - former)
return {total, redis.call('HINCRBY', KEYS[1], 'changes', 1)}

-- Write a new account; an id that came twice (a counter set back by a power loss) never overwrites one.
-- An account that was never approved and is deleted ('freed') is replaced.
-- KEYS: account (HASH)
-- ARGV: field, value, field, value, ...
-- Returns: 1 written, 0 there is an account of this id
if redis.call('EXISTS', KEYS[1]) == 1 then
  if redis.call('HGET', KEYS[1], 'freed') ~= '1' then
    return 0
  end
  redis.call('DEL', KEYS[1])
end
redis.call('HSET', KEYS[1], unpack(ARGV))
return 1

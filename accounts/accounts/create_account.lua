-- Write a new account; an id that came twice (a counter set back by a power loss) never overwrites one.
-- KEYS: account (HASH)
-- ARGV: field, value, field, value, ...
-- Returns: 1 written, 0 there is an account of this id
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 0
end
redis.call('HSET', KEYS[1], unpack(ARGV))
return 1

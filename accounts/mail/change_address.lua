-- Set fields of the mail address of an account; an empty value removes a field.
-- KEYS[1] account (HASH), [2] mail address of the account (HASH)
-- ARGV field, value, field, value, ...
-- returns 1, or 0 if the account is absent or deleted
local state = redis.call('HGET', KEYS[1], 'state')
if not state or state == 'deleted' then return 0 end
for i = 1, #ARGV, 2 do
  if ARGV[i + 1] == '' then
    redis.call('HDEL', KEYS[2], ARGV[i])
  else
    redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1])
  end
end
return 1

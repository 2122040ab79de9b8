-- Set fields of the mail address of an account; an empty value removes a field.
-- KEYS[1] account (HASH), [2] mail address of the account (HASH)
-- ARGV[1] '1' to change nothing unless the address and the pending address are [2] and [3], then field, value, ...
-- returns 1, or 0 if nothing was changed, because of this or because the account is absent or deleted
local state = redis.call('HGET', KEYS[1], 'state')
if not state or state == 'deleted' then return 0 end
local row = redis.call('HMGET', KEYS[2], 'address', 'pending')
if ARGV[1] == '1' and ((row[1] or '') ~= ARGV[2] or (row[2] or '') ~= ARGV[3]) then return 0 end
for i = 4, #ARGV, 2 do
  if ARGV[i + 1] == '' then
    redis.call('HDEL', KEYS[2], ARGV[i])
  else
    redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1])
  end
end
return 1

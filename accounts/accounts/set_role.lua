#!lua flags=allow-oom
-- Set the role of an account in the list of staff, unless that would leave no owner.
-- KEYS: staff (HASH)
-- ARGV: account id, its role if the list does not contain it, new role ('' for none), cap of the list
-- Returns: 1 changed, 0 as before, -1 the account is the last owner, -2 the list is full
local listed = redis.call('HGET', KEYS[1], ARGV[1])
local former = listed or ARGV[2]
if former == 'owner' and ARGV[3] ~= 'owner' then
  local others, entries = 0, redis.call('HGETALL', KEYS[1])
  for i = 1, #entries, 2 do
    if entries[i] ~= ARGV[1] and entries[i + 1] == 'owner' then
      others = others + 1
    end
  end
  if others == 0 then
    return -1
  end
end
if not listed and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[4]) then
  return -2
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return former ~= ARGV[3] and 1 or 0

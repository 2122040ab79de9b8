-- Purpose: add counts to members of one interval. A new hash receives its expiry time.
-- KEYS: the hash of the interval.
-- ARGV: expiry in Unix seconds, maximum number of members, then (member, amount) for each.
-- Returns: the number of members. Members above the maximum are counted as "other".

local hash, room = KEYS[1], tonumber(ARGV[2]) - redis.call("HLEN", KEYS[1])
local is_new = redis.call("EXISTS", hash) == 0
for at = 3, #ARGV, 2 do
  local member = ARGV[at]
  if room <= 0 and redis.call("HEXISTS", hash, member) == 0 then
    member = "other"
  end
  if redis.call("HINCRBY", hash, member, ARGV[at + 1]) == tonumber(ARGV[at + 1]) then
    room = room - 1
  end
end
if is_new then
  redis.call("EXPIREAT", hash, ARGV[1])
end
return redis.call("HLEN", hash)

-- Purpose: add counts to the members of one interval; the interval's end of life is set when it is made.
-- KEYS: the interval's hash.
-- ARGV: when it expires (Unix seconds), most members it may have, then (member, amount) for each.
-- Returns: how many members it has.

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

#!lua flags=no-writes
-- Members of a sorted set that share a score, strictly beyond one of them in the byte order, sought by rank.
-- KEYS[1] sorted set
-- ARGV    "up" or "down" | score | member | most members
-- Returns members, the lowest first; the one given need not exist any more
local direction, score, member, most = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local first = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. score)
local last = redis.call('ZCOUNT', KEYS[1], '-inf', score) - 1
-- Ranks first .. last have the score. They may be thousands: halve, never walk. Members are ids in decimal,
-- so that Lua's comparison (by locale) and the server's (by byte) agree.
local low, high = first, last + 1
while low < high do
  local middle = math.floor((low + high) / 2)
  local found = redis.call('ZRANGE', KEYS[1], middle, middle)[1]
  if found < member or (direction == 'up' and found == member) then
    low = middle + 1
  else
    high = middle
  end
end
if direction == 'up' then
  first, last = low, math.min(last, low + most - 1)
else
  first, last = math.max(first, low - most), low - 1
end
if first > last then
  return {}
end
return redis.call('ZRANGE', KEYS[1], first, last)

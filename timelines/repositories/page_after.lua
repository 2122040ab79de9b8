-- Page of a sorted set strictly beyond (score, member), ties in the byte order of the member, sought by rank.
-- KEYS[1] sorted set
-- ARGV    "up" or "down" | score | member | most entries
-- Returns {member, score, member, score, ...}; the cursor's own entry need not exist any more
local direction, score, member, most = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local low = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. score)
local high = redis.call('ZCOUNT', KEYS[1], '-inf', score)
-- Ranks low .. high-1 share the score. Thousands may: halve, never walk. Members are ids in decimal, so
-- Lua's comparison (by locale) and the server's (by byte) agree.
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
  return redis.call('ZRANGE', KEYS[1], low, low + most - 1, 'WITHSCORES')
end
if low == 0 then
  return {}
end
local last = redis.call('ZCARD', KEYS[1]) - low
return redis.call('ZREVRANGE', KEYS[1], last, last + most - 1, 'WITHSCORES')

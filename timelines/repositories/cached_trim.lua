-- Cut a cached timeline back to its cap; the floor rises to the newest id that was dropped.
-- KEYS[1] timeline (LIST, newest first, last element the floor "-id" or "building:<token>")
-- ARGV[1] cap
-- returns the entries left, -1 where there is nothing to trim (absent or building)
local last = redis.call('LINDEX', KEYS[1], -1)
if not last or string.sub(last, 1, 1) == 'b' then return -1 end
local cap = tonumber(ARGV[1])
local entries = redis.call('LLEN', KEYS[1]) - 1
if entries <= cap then return entries end
local floor = -tonumber(last)
for _, id in ipairs(redis.call('LRANGE', KEYS[1], cap, entries - 1)) do
  floor = math.max(floor, tonumber(id))
end
redis.call('LTRIM', KEYS[1], 0, cap - 1)
redis.call('RPUSH', KEYS[1], string.format('-%.0f', floor))
return cap

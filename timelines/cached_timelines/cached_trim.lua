-- Trim a cached timeline to its cap. The floor rises to the newest id that was dropped.
-- KEYS[1] timeline (LIST, newest first, last element the floor "-id" or "building:<token>")
-- ARGV[1] cap, ARGV[2] the maximum difference of ids that are out of order
-- returns the number of remaining entries, -1 if the timeline is absent or being built
local last = redis.call('LINDEX', KEYS[1], -1)
if not last or string.sub(last, 1, 1) == 'b' then return -1 end
local cap = tonumber(ARGV[1])
local entries = redis.call('LLEN', KEYS[1]) - 1
if entries <= cap then return entries end
local floor = -tonumber(last)
-- The list is sorted except within ARGV[2]. After an id that is older than this, no newer id follows.
local position = cap
while position < entries do
  local part = redis.call('LRANGE', KEYS[1], position, math.min(position + 15, entries - 1))
  for _, id in ipairs(part) do floor = math.max(floor, tonumber(id)) end
  if tonumber(part[#part]) < floor - tonumber(ARGV[2]) then break end
  position = position + #part
end
redis.call('LTRIM', KEYS[1], 0, cap - 1)
redis.call('RPUSH', KEYS[1], string.format('-%.0f', floor))
return cap

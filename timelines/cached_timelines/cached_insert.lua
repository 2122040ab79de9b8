-- Insert a late or repeated id at its position, unless it is present or below the floor, or the timeline is absent.
-- KEYS[1] timeline (LIST, newest first, last element the floor "-id" or "building:<token>")
-- ARGV[1] post id
-- returns the length of the list, 0 if nothing was inserted
local last = redis.call('LINDEX', KEYS[1], -1)
if not last then return 0 end
if string.sub(last, 1, 1) == 'b' then return redis.call('LPUSH', KEYS[1], ARGV[1]) end
local id = tonumber(ARGV[1])
if id <= -tonumber(last) then return 0 end
for _, entry in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
  if entry == ARGV[1] then return 0 end
  if tonumber(entry) < id then return redis.call('LINSERT', KEYS[1], 'BEFORE', entry, ARGV[1]) end
end
return 0

-- Store how far a timeline was read; the marker moves forward only, except on demand. At the cap, the marker of the
-- list that was read longest ago is deleted, because that list may not exist any more.
-- KEYS[1] positions (HASH)
-- ARGV[1] timeline, [2] post id, [3] "back" where it may go back too, [4] most timelines
-- returns the post id that stands
local held = redis.call('HGET', KEYS[1], ARGV[1])
if not held and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[4]) then
  local kept, oldest, least = redis.call('HGETALL', KEYS[1]), nil, math.huge
  for i = 1, #kept, 2 do
    if string.sub(kept[i], 1, 5) == 'list:' and tonumber(kept[i + 1]) < least then
      oldest, least = kept[i], tonumber(kept[i + 1])
    end
  end
  redis.call('HDEL', KEYS[1], oldest)
end
if held and ARGV[3] ~= 'back' and tonumber(held) >= tonumber(ARGV[2]) then return held end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return ARGV[2]

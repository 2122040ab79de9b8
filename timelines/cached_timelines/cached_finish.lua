-- Finish a build: merge the ids that were read from the author timelines with the ids that were pushed during the build.
-- KEYS[1] timeline
-- ARGV[1] token, ARGV[2] cap, ARGV[3] ms to live, ARGV[4] floor (an id, or 0 without older posts), ARGV[5..] ids
-- returns 1 if the timeline is built, 0 if the token is absent: the timeline was invalidated or the token expired
if redis.call('LINDEX', KEYS[1], -1) ~= 'building:' .. ARGV[1] then return 0 end
local cap, floor = tonumber(ARGV[2]), tonumber(ARGV[4])
local seen, ids = {}, {}
local function take(text)
  local id = tonumber(text)
  if id > floor and not seen[id] then
    seen[id] = true
    ids[#ids + 1] = id
  end
end
for _, text in ipairs(redis.call('LRANGE', KEYS[1], 0, -2)) do take(text) end
for position = 5, #ARGV do take(ARGV[position]) end
table.sort(ids, function(a, b) return a > b end)
if #ids > cap then floor = math.max(floor, ids[cap + 1]) end
redis.call('DEL', KEYS[1])
local batch = {}
for position = 1, math.min(#ids, cap) do
  batch[#batch + 1] = string.format('%.0f', ids[position])
  if #batch == 500 then
    redis.call('RPUSH', KEYS[1], unpack(batch))
    batch = {}
  end
end
batch[#batch + 1] = string.format('-%.0f', floor)
redis.call('RPUSH', KEYS[1], unpack(batch))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1

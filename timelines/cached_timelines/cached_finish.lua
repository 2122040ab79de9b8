-- Finish a build: merge what was read from the profiles with what arrived meanwhile.
-- KEYS[1] timeline
-- ARGV[1] token, ARGV[2] cap, ARGV[3] ms to live, ARGV[4] floor (id, 0: nothing left out), ARGV[5..] ids
-- returns 1 built, 0 the token is gone: somebody forgot the timeline, what was read may be stale
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

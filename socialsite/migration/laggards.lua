-- Who does not follow an epoch yet.
-- KEYS: leases, seen
-- ARGV: epoch
-- Returns {processes whose lease holds, processes whose lease has ended}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local waiting, lapsed = {}, {}
local rows = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
for place = 1, #rows, 2 do
  if tonumber(redis.call('HGET', KEYS[2], rows[place]) or '0') < tonumber(ARGV[1]) then
    local list = tonumber(rows[place + 1]) >= now and waiting or lapsed
    list[#list + 1] = rows[place]
  end
end
return {waiting, lapsed}

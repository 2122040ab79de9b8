-- Purpose: find the processes that do not follow an epoch yet.
-- KEYS: the leases, the followed epochs.
-- ARGV: epoch.
-- Returns: {processes with a valid lease, processes with an expired lease}.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local waiting, expired = {}, {}
local rows = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
for place = 1, #rows, 2 do
  if tonumber(redis.call('HGET', KEYS[2], rows[place]) or '0') < tonumber(ARGV[1]) then
    local list = tonumber(rows[place + 1]) >= now and waiting or expired
    list[#list + 1] = rows[place]
  end
end
return {waiting, expired}

-- Add a notification once. Its id is above the newest id and above the read mark.
-- KEYS[1] notifications, KEYS[2] read mark
-- ARGV[1] member, [2] id offered, [3] an id below which the same member is outdated, [4] cap
-- returns the id of the new notification, or nil if it exists
local held = redis.call('ZSCORE', KEYS[1], ARGV[1])
if held and tonumber(held) >= tonumber(ARGV[3]) then return false end
local id = tonumber(ARGV[2])
local newest = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
if newest[2] then id = math.max(id, tonumber(newest[2]) + 1) end
id = math.max(id, tonumber(redis.call('GET', KEYS[2]) or '0') + 1)
local text = string.format('%.0f', id)
redis.call('ZADD', KEYS[1], text, ARGV[1])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -tonumber(ARGV[4]) - 1)
return text

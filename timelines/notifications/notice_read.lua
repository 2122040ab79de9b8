#!lua flags=allow-oom
-- Move the read mark forward, never past the newest notification.
-- KEYS[1] notifications, KEYS[2] read mark
-- ARGV[1] id up to which notifications are read
-- returns the mark
local mark = tonumber(redis.call('GET', KEYS[2]) or '0')
local newest = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
local wanted = math.min(tonumber(ARGV[1]), tonumber(newest[2] or '0'))
if wanted > mark then
  mark = wanted
  redis.call('SET', KEYS[2], string.format('%.0f', mark))
end
return string.format('%.0f', mark)

-- Purpose: add, replace or delete a report together with its index entries, if nothing changed it meanwhile.
-- KEYS: [1] reports (HASH), [2] their posts (HASH), [3] queue (ZSET), [4] claims (HASH),
--   indexes (ZSET): [5] open, [6] closed, [7] by reported account, [8] by reporter.
-- ARGV: [1] report id, [2] value that the caller read, "" for a new report, [3] new value, "" to delete the report,
--   [4] posts, "" to leave them, [5] reported account, [6] newest entry of the reporter in [8] that the caller saw, "-" for
--   no check, [7] start of the reporter's entries in [8], [8] time of closing in ms,
--   [9] to [12] former entries in the indexes, [13] to [16] new ones, "" for none, then the categories.
-- Returns: the number of reports, or 0 if the report was changed, or if the reporter added another one.
local id, value, target = ARGV[1], ARGV[3], ARGV[5]
if (redis.call('HGET', KEYS[1], id) or '') ~= ARGV[2] then return 0 end
if ARGV[6] ~= '-' then
  local newest = redis.call('ZRANGE', KEYS[8], '(' .. ARGV[7] .. ';', '[' .. ARGV[7] .. ':', 'BYLEX', 'REV', 'LIMIT', 0, 1)
  if (newest[1] or '') ~= ARGV[6] then return 0 end
end
if value == '' then
  redis.call('HDEL', KEYS[1], id)
  redis.call('HDEL', KEYS[2], id)
else
  redis.call('HSET', KEYS[1], id, value)
  if ARGV[4] ~= '' then redis.call('HSET', KEYS[2], id, ARGV[4]) end
end
for number = 1, 4 do
  local key, former, entry = KEYS[4 + number], ARGV[8 + number], ARGV[12 + number]
  if former ~= '' and former ~= entry then redis.call('ZREM', key, former) end
  if entry ~= '' then redis.call('ZADD', key, number == 2 and ARGV[8] or 0, entry) end
end
local oldest = nil
for number = 17, #ARGV do
  local prefix = target .. ':' .. ARGV[number]
  local first = redis.call('ZRANGE', KEYS[5], '[' .. prefix .. ':', '(' .. prefix .. ';', 'BYLEX', 'LIMIT', 0, 1)[1]
  local first_id = first and string.match(first, '%d+$')
  if first_id and (not oldest or first_id < oldest) then oldest = first_id end
end
if oldest then
  redis.call('ZADD', KEYS[3], oldest, target)
else
  redis.call('ZREM', KEYS[3], target)
  redis.call('HDEL', KEYS[4], target)
end
return math.max(1, redis.call('HLEN', KEYS[1]))

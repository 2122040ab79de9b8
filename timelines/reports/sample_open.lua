-- Purpose: read some of the open reports at random.
-- KEYS: [1] open reports (ZSET), [2] claims (HASH).
-- ARGV: [1] the number of reports.
-- Returns: for each report its entry "<reported account>:<category>:<id>", and the claim on its account or "".
local result = {}
for number, entry in ipairs(redis.call('ZRANDMEMBER', KEYS[1], ARGV[1])) do
  result[2 * number - 1] = entry
  result[2 * number] = redis.call('HGET', KEYS[2], string.match(entry, '^%d+')) or ''
end
return result

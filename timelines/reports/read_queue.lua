-- Purpose: read the accounts with open reports, with the number of their open reports in each category.
-- KEYS: [1] queue (ZSET), [2] open reports (ZSET), [3] claims (HASH).
-- ARGV: [1] begin after this report, [2] accounts to return, [3] accounts to read at most,
--   [4] number of the category that the accounts must have, 0 for all,
--   [5] staff member whose claims the accounts must have, "" for all, then the categories.
-- Returns: the report to continue after, or "" at the end; then for each account: id, oldest report, claim or "", counts.
local limit, category = tonumber(ARGV[2]), tonumber(ARGV[4])
local entries = redis.call('ZRANGE', KEYS[1], '(' .. ARGV[1], '+inf', 'BYSCORE', 'LIMIT', 0, ARGV[3], 'WITHSCORES')
local result, shown = { #entries == 2 * tonumber(ARGV[3]) and entries[#entries] or '' }, 0
for at = 1, #entries, 2 do
  local account, counts = entries[at], {}
  local claim = redis.call('HGET', KEYS[3], account) or ''
  local is_read = ARGV[5] == '' or string.match(claim, '^%d+') == ARGV[5]
  for number = 6, is_read and #ARGV or 0 do
    local prefix = account .. ':' .. ARGV[number]
    counts[number - 5] = redis.call('ZLEXCOUNT', KEYS[2], '[' .. prefix .. ':', '(' .. prefix .. ';')
  end
  if is_read and (category == 0 or counts[category] > 0) then
    if shown == limit then
      result[1] = entries[at - 1]
      break
    end
    shown = shown + 1
    result[#result + 1] = account
    result[#result + 1] = entries[at + 1]
    result[#result + 1] = claim
    for _, count in ipairs(counts) do result[#result + 1] = count end
  end
end
return result

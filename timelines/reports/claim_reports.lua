-- Purpose: claim the open reports about an account for one staff member, unless another one has claimed them.
-- KEYS: [1] claims (HASH), [2] queue (ZSET).
-- ARGV: [1] reported account, [2] staff member, [3] now in ms, [4] end of the claim in ms, [5] reason of a takeover, or "".
-- Returns: the claim that holds now, or nil if no report about the account is open.
if not redis.call('ZSCORE', KEYS[2], ARGV[1]) then return false end
local held = redis.call('HGET', KEYS[1], ARGV[1])
if held and ARGV[5] == '' then
  local staff, until_ms = string.match(held, '^(%d+):(%d+):')
  if staff and staff ~= ARGV[2] and tonumber(until_ms) > tonumber(ARGV[3]) then return held end
end
local claim = ARGV[2] .. ':' .. ARGV[4] .. ':' .. ARGV[5]
redis.call('HSET', KEYS[1], ARGV[1], claim)
return claim
